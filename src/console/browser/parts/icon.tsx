/** An icon of the sprite in index.html; always beside a word. */
export function Icon({ name }: { name: string }) {
  return (
    <svg className="icon" aria-hidden="true">
      <use href={`#i-${name}`} />
    </svg>
  );
}

export function Brand() {
  return (
    <>
      <svg viewBox="0 0 22 22" aria-hidden="true">
        <path d="M4 17V9a4 4 0 0 1 4-4h6" />
        <circle cx="4" cy="18" r="2.5" className="on" />
        <circle cx="17" cy="5" r="2.75" />
      </svg>
      Grantline
    </>
  );
}
