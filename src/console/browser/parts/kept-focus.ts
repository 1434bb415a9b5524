import { useEffect } from 'react';

const FOCUSABLE = 'a[href], button, input, select, textarea, [tabindex="0"]';

/** What had the focus, and its place in all that it stood in, from the nearest to the page. */
interface Place {
  element: Element;
  within: readonly { ancestor: Element; index: number }[];
}

/**
 * Where the focus goes when what has it is taken out of the page, such as a row or its button: to what stands in its place then,
 * as near as possible, or to the page. Browsers would begin at the top again.
 */
export function useKeptFocus(): void {
  useEffect(() => {
    let last: Place | null = null;
    const isLost = (): boolean => document.activeElement === null || document.activeElement === document.body;
    const remember = ({ target }: FocusEvent): void => {
      last = target instanceof Element ? placeOf(target) : null;
    };
    // Somebody clicked on nothing. What is taken out may lose the focus before it is out.
    const forget = (): void =>
      queueMicrotask(() => {
        if (last?.element.isConnected === true && isLost()) last = null;
      });
    const observer = new MutationObserver(() => {
      if (last !== null && !last.element.isConnected && isLost()) successorOf(last)?.focus({ preventScroll: true });
    });
    document.addEventListener('focusin', remember);
    document.addEventListener('focusout', forget);
    observer.observe(document.body, { childList: true, subtree: true });
    return () => {
      document.removeEventListener('focusin', remember);
      document.removeEventListener('focusout', forget);
      observer.disconnect();
    };
  }, []);
}

function placeOf(element: Element): Place {
  const within: { ancestor: Element; index: number }[] = [];
  for (let at = element.parentElement; at !== null && at.id !== 'main'; at = at.parentElement)
    within.push({ ancestor: at, index: [...at.querySelectorAll(FOCUSABLE)].indexOf(element) });
  return { element, within };
}

function successorOf({ within }: Place): HTMLElement | null {
  const main = document.getElementById('main');
  for (const { ancestor, index } of within) {
    if (main?.contains(ancestor) !== true) continue;
    const there = ancestor.querySelectorAll<HTMLElement>(FOCUSABLE);
    const successor = there[Math.min(Math.max(index, 0), there.length - 1)];
    if (successor !== undefined) return successor;
  }
  return main;
}
