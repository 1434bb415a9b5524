import { useSearchParams } from 'wouter';

/** The parameters of the address, and how to change some of them: those that are empty are left out. */
export function useAddress() {
  const [search, setSearch] = useSearchParams();
  /** @param isStep *back* comes to the address before it */
  const change = (part: Readonly<Record<string, string>>, isStep = false): void =>
    setSearch(
      (before) => {
        const after = new URLSearchParams(before);
        for (const [parameter, value] of Object.entries(part)) {
          if (value === '') after.delete(parameter);
          else after.set(parameter, value);
        }
        return after;
      },
      { replace: !isStep },
    );
  return { search, change };
}
