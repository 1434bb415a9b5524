/**
 * What happens around one step of a process: `forward` takes the step to the server and waits for the whole answer, which the
 * process gets when this returns. When it throws, the process gets a lost connection instead.
 */
export type Around = (step: string, forward: () => Promise<void>) => Promise<void>;

export const FORWARD: Around = (_, forward) => forward();
