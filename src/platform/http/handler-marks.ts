import type { ExecutionContext } from '@nestjs/common';

type Handler = ReturnType<ExecutionContext['getHandler']>;
type Controller = ReturnType<ExecutionContext['getClass']>;

/** What the decorators of a handler and its controller say, read once: reading metadata takes longer than deciding by it. */
export class HandlerMarks<Marks> {
  private readonly known = new Map<Handler, { controller: Controller; marks: Marks }>();

  constructor(private readonly read: (handler: Handler, controller: Controller) => Marks) {}

  of(context: ExecutionContext): Marks {
    const [handler, controller] = [context.getHandler(), context.getClass()];
    const known = this.known.get(handler);
    if (known?.controller === controller) return known.marks;
    const marks = this.read(handler, controller);
    this.known.set(handler, { controller, marks });
    return marks;
  }
}
