import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import { api, bodyOf, Problem, type Schemas } from '../api/client.js';
import { accessChanged, useGrants } from '../api/entries.js';
import { queries } from '../api/session.js';
import { ActDialog } from '../parts/act-dialog.js';
import { Failure } from '../parts/failure.js';
import { Form } from '../parts/form.js';
import { GrantTable } from '../parts/grants.js';
import { Icon } from '../parts/icon.js';
import { PageHead, Region } from '../parts/page.js';
import { Shape } from '../parts/principal.js';
import { TextField } from '../parts/text-field.js';
import { NotHere } from './absent.js';
import { GroupMembers, ProvidedMembers } from './group-members.js';
import { MANAGED } from './groups.js';

type Group = Schemas['GroupResponse'];

/** One group: its members, what a change of them gives and takes before it is saved, and what the group holds. */
export function GroupPage() {
  const id = Number(useParams<{ id: string }>().id);
  const query = useQuery({
    queryKey: ['groups', id],
    queryFn: () => bodyOf(api.GET('/api/admin/groups/{id}', { params: { path: { id } } })),
  });
  if (query.error instanceof Problem && query.error.status === 404) return <NotHere />;
  if (query.data === undefined) {
    return (
      <main id="main" aria-busy={!query.isError} tabIndex={-1}>
        <PageHead title="Group" />
        {query.isError && <Failure problem={query.error} retry={() => void query.refetch()} />}
      </main>
    );
  }
  const group = query.data;
  const head = <Head group={group} />;
  const holdings = <GroupHoldings group={group} />;
  return (
    <main id="main" className="split split--draft" tabIndex={-1}>
      {group.source === 'local' ? (
        <GroupMembers key={id} group={group} head={head} holdings={holdings} />
      ) : (
        <ProvidedMembers group={group} head={head} holdings={holdings} />
      )}
    </main>
  );
}

function Head({ group }: { group: Group }) {
  const [isDeleting, setDeleting] = useState(false);
  const [isEditing, setEditing] = useState(false);
  const [, navigate] = useLocation();
  const { id, name, description, source } = group;
  return (
    <>
      <PageHead
        title={name}
        heading={
          <>
            <Shape of={{ type: 'group', name }} />
            {name}
          </>
        }
        actions={
          <>
            <Link className="button" href={`/audit?subject=group:${id}`}>
              History
            </Link>
            <button className="button" type="button" aria-expanded={isEditing} onClick={() => setEditing(!isEditing)}>
              {source === 'local' ? 'Rename' : 'Describe'}
            </button>
            <button className="button button--danger" type="button" onClick={() => setDeleting(true)}>
              Delete…
            </button>
          </>
        }
      >
        {description !== null && `${description} `}Managed {MANAGED[source]}.
      </PageHead>
      {source !== 'local' && (
        <p className="note">
          <Icon name="info" />
          <span>The identity provider says how this group is called and who is in it. Change it there.</span>
        </p>
      )}
      {isEditing && <EditGroup group={group} close={() => setEditing(false)} />}
      {isDeleting && (
        <ActDialog
          title={`Delete ${name}?`}
          act="Delete"
          isDanger
          close={() => setDeleting(false)}
          run={() => bodyOf(api.DELETE('/api/admin/groups/{id}', { params: { path: { id } } }))}
          done={() => {
            void queries.invalidateQueries({ queryKey: ['groups'], exact: false, refetchType: 'none' });
            navigate('/groups');
          }}
        >
          <p>A group that a grant or a policy names cannot be deleted.</p>
        </ActDialog>
      )}
    </>
  );
}

/** Its name and description; of a group from the identity provider the description alone. */
function EditGroup({ group: { id, source, ...before }, close }: { group: Group; close: () => void }) {
  const [name, setName] = useState(before.name);
  const [description, setDescription] = useState(before.description ?? '');
  const isLocal = source === 'local';
  const saving = useMutation({
    mutationFn: () => {
      const body = { ...(isLocal && { name: name.trim() }), description: description.trim() || null };
      return bodyOf(api.PATCH('/api/admin/groups/{id}', { params: { path: { id } }, body }));
    },
    onSuccess: () => {
      close();
      return accessChanged();
    },
  });
  return (
    <Form isPanel label={isLocal ? 'Rename the group' : 'Describe the group'} doing={saving} act="Save" close={close}>
      {isLocal && <TextField label="Name" value={name} set={setName} maxLength={128} autoFocus required />}
      <TextField label="Description" value={description} set={setDescription} maxLength={1000} autoFocus={!isLocal} />
    </Form>
  );
}

/** The grants that name a group. */
function GroupHoldings({ group: { id } }: { group: Schemas['GroupResponse'] }) {
  const list = useGrants({ principal: `group:${id}` });
  return (
    <Region title="What this group holds">
      <GrantTable name="Grants" isOfOne list={list} empty={<p className="dim">No grant names this group.</p>} />
    </Region>
  );
}
