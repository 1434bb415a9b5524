import { useQuery } from '@tanstack/react-query';
import { api, bodyOf } from '../api/client.js';
import type { GrantForm } from '../domain/grant-form.js';
import { pathText } from '../domain/node-path.js';
import { nodeOfForm } from '../domain/place-form.js';
import { principalParameter } from '../domain/principal-parameter.js';

/** Grants of the same holder on the node or below it, which the new one may take the place of. */
export function Replaced({ form, set }: { form: GrantForm; set: (revoke: number[]) => void }) {
  const { principal, revoke } = form;
  const node = form.place === 'data' ? nodeOfForm(form) : null;
  const query = { ...node, principal: principal === null ? '' : principalParameter(principal), limit: 20 };
  const { data = [] } = useQuery({
    queryKey: ['grants', 'replaced', query],
    enabled: principal !== null && node?.catalog !== undefined,
    queryFn: async () => (await bodyOf(api.GET('/api/admin/grants', { params: { query: query as never } }))).items,
  });
  const shown = data.filter(
    ({ id, privileges }) => revoke.includes(id) || privileges.some((each) => form.privileges.includes(each)),
  );
  if (principal === null || shown.length === 0) return null;
  return (
    <div className="field">
      {shown.map(({ id, privileges, resource }) => (
        <label key={id} className="check">
          <input
            type="checkbox"
            checked={revoke.includes(id)}
            onChange={({ target }) => set(target.checked ? [...revoke, id] : revoke.filter((each) => each !== id))}
          />{' '}
          <span>Revoke grant {id}, which this one replaces</span>
          <span className="hint">
            {privileges.join(', ')} on {pathText(resource)}
          </span>
        </label>
      ))}
    </div>
  );
}
