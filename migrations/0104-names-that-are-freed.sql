comment on table principal_names is 'Every name that the query engine may meet, and whether an account or an engine principal (service accounts of the settings among them) holds it. A name has one holder.';
comment on column principal_names.former_of is 'The account that was renamed away from this name, and alone can have it, until an administrator frees it or the account is deleted.';

create index principal_names_of_renamed_accounts on principal_names (former_of) where former_of is not null;

-- Those of accounts that SCIM has deleted.
delete from principal_names where former_of in (
  select id from users where source = 'scim' and not exists (select from scim_users where user_id = users.id)
);
