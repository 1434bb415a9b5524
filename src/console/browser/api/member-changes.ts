import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { keyOf } from '../domain/member-rows.js';
import type { Named } from '../parts/principal.js';
import { api, bodyOf } from './client.js';
import { accessChanged } from './entries.js';

/**
 * Who joins a group and who leaves it once this is saved, one after the other: what was saved is no longer in the draft when a later
 * one is refused, and what is added meanwhile stays in it.
 */
export function useMemberChanges(id: number) {
  const [joins, setJoins] = useState<readonly Named[]>([]);
  const [leaves, setLeaves] = useState<readonly Named[]>([]);
  const saving = useMutation({
    mutationFn: async () => {
      const paramsOf = (member: Named) => ({ params: { path: { id, member: keyOf(member) } } });
      const without = (member: Named) => (now: readonly Named[]) => now.filter((each) => each !== member);
      for (const member of joins) {
        await bodyOf(api.PUT('/api/admin/groups/{id}/members/{member}', paramsOf(member)));
        setJoins(without(member));
      }
      for (const member of leaves) {
        await bodyOf(api.DELETE('/api/admin/groups/{id}/members/{member}', paramsOf(member)));
        setLeaves(without(member));
      }
    },
    onSettled: () => accessChanged(),
  });
  const discard = (): void => {
    setJoins([]);
    setLeaves([]);
    saving.reset();
  };
  return { joins, leaves, setJoins, setLeaves, saving, discard };
}
