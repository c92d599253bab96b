-- A file is compared with those that are there by its title and by its bytes. A page's title is its address, which may be longer
-- than an index takes.
create index documents_by_title on documents (tenant_id, left(lower(title), 500));
create index documents_by_digest on documents (tenant_id, digest) where digest is not null;
