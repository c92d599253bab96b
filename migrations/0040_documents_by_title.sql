-- A file of a folder is compared with those that are there by its title and by its bytes.
create index documents_by_title on documents (tenant_id, lower(title));
create index documents_by_digest on documents (tenant_id, digest) where digest is not null;
