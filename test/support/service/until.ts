/** Asks until it is so, ever less often: what is waited for needs the processor. jest's own limit ends what never comes. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const began = performance.now();
  while (!(await isSo())) {
    const pause = Math.min(100, 5 + (performance.now() - began) / 10);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
