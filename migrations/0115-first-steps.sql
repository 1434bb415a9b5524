alter table acl_publications add column first_step_of text;

comment on column acl_publications.first_step_of is 'The hash of the rules to which the version is the first step: their masks and filters, without the access that comes with them. Null: it is none.';
