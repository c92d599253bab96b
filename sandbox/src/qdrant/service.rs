//! The services of the protocol. What is not written here is *unimplemented*.

use std::sync::Arc;

use axum::Router;
use qdrant_client::qdrant::collections_server::{Collections, CollectionsServer};
use qdrant_client::qdrant::points_server::{Points, PointsServer};
use qdrant_client::qdrant::qdrant_server::{Qdrant, QdrantServer};
use qdrant_client::qdrant::{
    self, CollectionOperationResponse, CountResponse, CountResult, FacetResponse, GetCollectionInfoResponse,
    HealthCheckReply, PointsOperationResponse, QueryBatchResponse, UpdateResult, UpdateStatus,
};
use tonic::service::Routes;
use tonic::{Request, Response, Status};

use super::state::Shared;
use super::{collections, middleware, points};

#[derive(Clone)]
struct Service(Arc<Shared>);

pub(super) fn routes(shared: &Arc<Shared>) -> Router {
    let service = Service(shared.clone());
    let routes = Routes::new(PointsServer::new(service.clone()))
        .add_service(CollectionsServer::new(service.clone()))
        .add_service(QdrantServer::new(service));
    let layer = axum::middleware::from_fn_with_state(shared.clone(), middleware::pass);
    routes.into_axum_router().layer(layer)
}

type Answer<T> = Result<Response<T>, Status>;

/// Implements a service: the methods that are written out, and the others as refusals.
macro_rules! service {
    ($service:ident { $($code:tt)* } $($method:ident($request:ident) -> $response:ident;)*) => {
        #[tonic::async_trait]
        impl $service for Service {
            $($code)*
            $(async fn $method(&self, _: Request<qdrant::$request>) -> Answer<qdrant::$response> {
                Err(Status::unimplemented(concat!("the fake does not know ", stringify!($method))))
            })*
        }
    };
}

fn operation_response(result: UpdateResult) -> PointsOperationResponse {
    PointsOperationResponse { result: Some(result), time: 0.0, usage: None }
}

service! { Points {
    async fn upsert(&self, request: Request<qdrant::UpsertPoints>) -> Answer<PointsOperationResponse> {
        self.0.answer(|state| points::upsert(state, request.into_inner()).map(operation_response))
    }

    async fn delete(&self, request: Request<qdrant::DeletePoints>) -> Answer<PointsOperationResponse> {
        self.0.answer(|state| points::delete(state, request.get_ref()).map(operation_response))
    }

    async fn create_field_index(
        &self,
        request: Request<qdrant::CreateFieldIndexCollection>,
    ) -> Answer<PointsOperationResponse> {
        let completed = UpdateResult { operation_id: Some(0), status: UpdateStatus::Completed.into() };
        self.0.answer(|state| {
            collections::create_index(state, request.get_ref())?;
            Ok(operation_response(completed))
        })
    }

    async fn count(&self, request: Request<qdrant::CountPoints>) -> Answer<CountResponse> {
        self.0.answer(|state| {
            let result = Some(CountResult { count: points::count(state, request.get_ref())? });
            Ok(CountResponse { result, time: 0.0, usage: None })
        })
    }

    async fn facet(&self, request: Request<qdrant::FacetCounts>) -> Answer<FacetResponse> {
        self.0.answer(|state| {
            let hits = points::facet(state, request.get_ref())?;
            Ok(FacetResponse { hits, time: 0.0, usage: None })
        })
    }

    async fn query_batch(&self, request: Request<qdrant::QueryBatchPoints>) -> Answer<QueryBatchResponse> {
        self.0.answer(|state| {
            let lists = points::query_batch(state, request.get_ref())?.into_iter();
            let result = lists.map(|result| qdrant::BatchResult { result }).collect();
            Ok(QueryBatchResponse { result, time: 0.0, usage: None })
        })
    }
}
    get(GetPoints) -> GetResponse;
    update_vectors(UpdatePointVectors) -> PointsOperationResponse;
    delete_vectors(DeletePointVectors) -> PointsOperationResponse;
    set_payload(SetPayloadPoints) -> PointsOperationResponse;
    overwrite_payload(SetPayloadPoints) -> PointsOperationResponse;
    delete_payload(DeletePayloadPoints) -> PointsOperationResponse;
    clear_payload(ClearPayloadPoints) -> PointsOperationResponse;
    delete_field_index(DeleteFieldIndexCollection) -> PointsOperationResponse;
    create_vector_name(CreateVectorNameRequest) -> PointsOperationResponse;
    delete_vector_name(DeleteVectorNameRequest) -> PointsOperationResponse;
    search(SearchPoints) -> SearchResponse;
    search_batch(SearchBatchPoints) -> SearchBatchResponse;
    search_groups(SearchPointGroups) -> SearchGroupsResponse;
    scroll(ScrollPoints) -> ScrollResponse;
    recommend(RecommendPoints) -> RecommendResponse;
    recommend_batch(RecommendBatchPoints) -> RecommendBatchResponse;
    recommend_groups(RecommendPointGroups) -> RecommendGroupsResponse;
    discover(DiscoverPoints) -> DiscoverResponse;
    discover_batch(DiscoverBatchPoints) -> DiscoverBatchResponse;
    update_batch(UpdateBatchPoints) -> UpdateBatchResponse;
    query(QueryPoints) -> QueryResponse;
    query_groups(QueryPointGroups) -> QueryGroupsResponse;
    search_matrix_pairs(SearchMatrixPoints) -> SearchMatrixPairsResponse;
    search_matrix_offsets(SearchMatrixPoints) -> SearchMatrixOffsetsResponse;
}

service! { Collections {
    async fn get(
        &self,
        request: Request<qdrant::GetCollectionInfoRequest>,
    ) -> Answer<GetCollectionInfoResponse> {
        self.0.answer(|state| {
            let result = Some(collections::describe(state, &request.get_ref().collection_name)?);
            Ok(GetCollectionInfoResponse { result, time: 0.0 })
        })
    }

    async fn list(&self, _: Request<qdrant::ListCollectionsRequest>) -> Answer<qdrant::ListCollectionsResponse> {
        self.0.answer(|state| {
            let names = state.collections.keys().cloned();
            let collections = names.map(|name| qdrant::CollectionDescription { name }).collect();
            Ok(qdrant::ListCollectionsResponse { collections, time: 0.0 })
        })
    }

    async fn create(&self, request: Request<qdrant::CreateCollection>) -> Answer<CollectionOperationResponse> {
        self.0.answer(|state| {
            collections::create(state, request.get_ref())?;
            Ok(CollectionOperationResponse { result: true, time: 0.0 })
        })
    }
}
    update(UpdateCollection) -> CollectionOperationResponse;
    delete(DeleteCollection) -> CollectionOperationResponse;
    update_aliases(ChangeAliases) -> CollectionOperationResponse;
    list_collection_aliases(ListCollectionAliasesRequest) -> ListAliasesResponse;
    list_aliases(ListAliasesRequest) -> ListAliasesResponse;
    collection_cluster_info(CollectionClusterInfoRequest) -> CollectionClusterInfoResponse;
    collection_exists(CollectionExistsRequest) -> CollectionExistsResponse;
    update_collection_cluster_setup(UpdateCollectionClusterSetupRequest) -> UpdateCollectionClusterSetupResponse;
    create_shard_key(CreateShardKeyRequest) -> CreateShardKeyResponse;
    delete_shard_key(DeleteShardKeyRequest) -> DeleteShardKeyResponse;
    list_shard_keys(ListShardKeysRequest) -> ListShardKeysResponse;
}

service! { Qdrant {
    async fn health_check(&self, _: Request<qdrant::HealthCheckRequest>) -> Answer<HealthCheckReply> {
        let title = "qdrant - vector search engine".to_owned();
        self.0.answer(|state| Ok(HealthCheckReply { title, version: state.version.clone(), commit: None }))
    }
}}
