import { ValidateBy } from 'class-validator';

/** Says what is wrong with a text, as the end of a sentence that begins with the field's name; null: nothing. */
export type TextRule = (text: string) => string | null;

/** A string that the rule finds nothing wrong with. */
export function Obeys(rule: TextRule): PropertyDecorator {
  const problem = (value: unknown): string | null => {
    if (value === undefined) return 'is required';
    return typeof value === 'string' ? rule(value) : 'must be a string';
  };
  return ValidateBy({
    name: 'obeys',
    validator: {
      validate: (value) => problem(value) === null,
      defaultMessage: (of) => problem(of?.value) ?? '',
    },
  });
}

/** Any text at all. */
export const anyText: TextRule = () => null;

/** Of a text that PostgreSQL and bcrypt can take, for the OpenAPI document. */
export const WITHOUT_NUL = '^[^\\u0000]*$';
