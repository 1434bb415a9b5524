/** Where one grant stands, whatever has become of it. */
export function grantAddress(id: number | string): string {
  return `/grants?state=all&grant=${id}`;
}
