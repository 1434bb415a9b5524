import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { keyOf } from '../domain/member-rows.js';
import type { Named } from '../parts/principal.js';
import { api, bodyOf } from './client.js';
import { accessChanged } from './entries.js';

/** Who joins a group and who leaves it once this is saved, one after the other: what was saved is no longer in the draft when a later one is refused. */
export function useMemberChanges(id: number) {
  const [joins, setJoins] = useState<readonly Named[]>([]);
  const [leaves, setLeaves] = useState<readonly Named[]>([]);
  const saving = useMutation({
    mutationFn: async () => {
      const paramsOf = (member: Named) => ({ params: { path: { id, member: keyOf(member) } } });
      for (const [at, member] of joins.entries()) {
        await bodyOf(api.PUT('/api/admin/groups/{id}/members/{member}', paramsOf(member)));
        setJoins(joins.slice(at + 1));
      }
      for (const [at, member] of leaves.entries()) {
        await bodyOf(api.DELETE('/api/admin/groups/{id}/members/{member}', paramsOf(member)));
        setLeaves(leaves.slice(at + 1));
      }
    },
    onSettled: accessChanged,
  });
  const discard = (): void => {
    setJoins([]);
    setLeaves([]);
    saving.reset();
  };
  return { joins, leaves, setJoins, setLeaves, saving, discard };
}
