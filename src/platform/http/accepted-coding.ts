/** RFC 9110 section 12.5.3: the coding named, or `*` where it is not, and not with the weight 0. */
export function acceptsCoding(header: string | undefined, coding: 'br' | 'gzip'): boolean {
  const weights = new Map(
    (header ?? '').split(',').map((each) => {
      const [name = '', weight = 'q=1'] = each.split(';').map((part) => part.trim().toLowerCase());
      return [name, weight];
    }),
  );
  const weight = weights.get(coding) ?? weights.get('*');
  return weight !== undefined && !/^q=0(\.0*)?$/.test(weight);
}
