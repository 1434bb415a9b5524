alter table acl_publications add column is_found boolean not null default false;

comment on column acl_publications.is_found is 'Found at the target with a generation above every version here: the database was restored from a backup, or another installation publishes there. Its snapshot is that of the last version known before, or empty.';

create index acl_publications_found on acl_publications (version) where is_found;
