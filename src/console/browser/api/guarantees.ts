import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useDebounced } from '../parts/address.js';
import { api, bodyOf, type Schemas, versionedBodyOf } from './client.js';
import { usePages } from './pages.js';

export function useGuarantees() {
  return usePages(['guarantees'], (page) => bodyOf(api.GET('/api/admin/guarantees', { params: { query: page } })), {
    isReadToEnd: true,
  });
}

export const readGuarantee = (id: number) =>
  versionedBodyOf(api.GET('/api/admin/guarantees/{id}', { params: { path: { id } } }));

export function useGuarantee(id: number) {
  return useQuery({ queryKey: ['guarantees', id], queryFn: () => readGuarantee(id) });
}

/**
 * The verdict on an unsaved guarantee, by the present grants. The former verdict is shown until the new one arrives.
 * @param guarantee null: the guarantee is incomplete, and has no verdict
 */
export function useJudgement(guarantee: Schemas['GuaranteeDto'] | null) {
  // Replaces fields that do not change the verdict, so that typing a name sends no request.
  const json = JSON.stringify(guarantee && { ...guarantee, name: '-', description: undefined, mode: 'reported' });
  const debouncedJson = useDebounced(json, 300);
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
