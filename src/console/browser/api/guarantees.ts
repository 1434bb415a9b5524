import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useSettled } from '../parts/address.js';
import { api, bodyOf, type Schemas, versionOf } from './client.js';
import { usePages } from './pages.js';

/** All guarantees, as they were judged last. */
export function useGuarantees() {
  return usePages(['guarantees'], (page) => bodyOf(api.GET('/api/admin/guarantees', { params: { query: page } })), {
    isWhole: true,
  });
}

export const readGuarantee = (id: number) =>
  versionOf(api.GET('/api/admin/guarantees/{id}', { params: { path: { id } } }));

/** One guarantee with its version. @param id null: none @param isEdited it stays as it was read: a form is compared with it */
export function useGuarantee(id: number | null, isEdited = false) {
  return useQuery({
    queryKey: [isEdited ? 'guarantee' : 'guarantees', id],
    enabled: id !== null,
    ...(isEdited && { staleTime: Infinity, gcTime: 0 }),
    queryFn: () => readGuarantee(id ?? 0),
  });
}

/** Milliseconds without a change before a guarantee is judged. */
const PAUSE = 300;

/**
 * The judgement of an unsaved guarantee on what is recorded now. The last one stays until the next arrives.
 * @param guarantee null: incomplete
 */
export function useJudgement(guarantee: Schemas['GuaranteeDto'] | null) {
  // Without what changes no judgement: typing a name costs none.
  const text = JSON.stringify(guarantee && { ...guarantee, name: '-', description: undefined, mode: 'reported' });
  const settled = useSettled(text, PAUSE);
  const { data, error, refetch, isPlaceholderData, isFetching } = useQuery({
    queryKey: ['judgement', settled],
    enabled: settled !== 'null',
    placeholderData: keepPreviousData,
    staleTime: 0,
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const guarantees = [JSON.parse(settled) as Schemas['GuaranteeDto']];
      return (await bodyOf(api.POST('/api/admin/guarantees/check', { body: { guarantees }, signal }))).guarantees[0];
    },
  });
  return {
    judged: text === 'null' || error !== null ? null : (data ?? null),
    isJudging: text !== 'null' && (text !== settled || isPlaceholderData || (isFetching && data === undefined)),
    error: text === settled ? error : null,
    retry: () => void refetch(),
  };
}
