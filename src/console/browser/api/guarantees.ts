import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useDebounced } from '../parts/address.js';
import { api, bodyOf, type Schemas, versionedBodyOf } from './client.js';
import { usePages } from './pages.js';

export function useGuarantees() {
  return usePages(['guarantees'], (page) => bodyOf(api.GET('/api/admin/guarantees', { params: { query: page } })), {
    isReadToEnd: true,
  });
}

const readGuarantee = (id: number) =>
  versionedBodyOf(api.GET('/api/admin/guarantees/{id}', { params: { path: { id } } }));

/** The cache key of a guarantee whose form is open. */
export const editedKeyOf = (id: number | null) => ['guarantee', id];

/** One guarantee with its version. @param id null: nothing is read */
export function useGuarantee(id: number | null) {
  return useQuery({ queryKey: ['guarantees', id], enabled: id !== null, queryFn: () => readGuarantee(id ?? 0) });
}

/** The same for its form. @param isReadOnFocus whether it is read again when the window gets the focus */
export function useEditedGuarantee(id: number | null, isReadOnFocus = false) {
  return useQuery({
    queryKey: editedKeyOf(id),
    enabled: id !== null,
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: isReadOnFocus ? 'always' : false,
    queryFn: () => readGuarantee(id ?? 0),
  });
}

/** Time without changes after which a guarantee is judged. */
const JUDGEMENT_DELAY_MS = 300;

/**
 * The verdict on an unsaved guarantee, by the present grants. The former verdict is shown until the new one arrives.
 * @param guarantee null: the guarantee is incomplete, and has no verdict
 */
export function useJudgement(guarantee: Schemas['GuaranteeDto'] | null) {
  // Replaces fields that do not change the verdict, so that typing a name sends no request.
  const json = JSON.stringify(guarantee && { ...guarantee, name: '-', description: undefined, mode: 'reported' });
  const debouncedJson = useDebounced(json, JUDGEMENT_DELAY_MS);
  const { data, error, refetch, isPlaceholderData, isFetching } = useQuery({
    queryKey: ['judgement', debouncedJson],
    enabled: debouncedJson !== 'null',
    placeholderData: keepPreviousData,
    staleTime: 0,
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const guarantees = [JSON.parse(debouncedJson) as Schemas['GuaranteeDto']];
      return (await bodyOf(api.POST('/api/admin/guarantees/check', { body: { guarantees }, signal }))).guarantees[0];
    },
  });
  return {
    judgement: json === 'null' || error !== null ? null : (data ?? null),
    isJudging: json !== 'null' && (json !== debouncedJson || isPlaceholderData || (isFetching && data === undefined)),
    error: json === debouncedJson ? error : null,
    retry: () => void refetch(),
  };
}
