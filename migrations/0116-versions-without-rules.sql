alter table acl_publications alter column text drop not null;

comment on column acl_publications.text is 'rules.json. Null: OPA was the only target, and is served the data of the snapshot.';
comment on column acl_publications.hash is 'Of the rules, as their marker says it; without rules of the snapshot.';
