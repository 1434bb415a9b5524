import { isObject } from '../../kernel/json-reader.js';
import { fields } from './bundle-index.js';

type Form = (value: unknown) => boolean;

/**
 * The first field of a bundle's data (`access`) whose value has another form than the first comment of policy.rego describes; null: there is
 * none. Rego takes for example `false`, a missing key and a key with `null` each in its own way. So the proof reads described forms only.
 */
export function findMalformedField(data: unknown): string | null {
  const values = new Map(fields(data));
  const names = new Set([...FORM_BY_FIELD.keys(), ...values.keys()]);
  return [...names].find((name) => !(FORM_BY_FIELD.get(name)?.(values.get(name)) ?? false)) ?? null;
}

const isText: Form = (value) => typeof value === 'string';
const isFlag: Form = (value) => value === true;
const isNumber: Form = (value) => typeof value === 'number';
const isSetting: Form = (value) => typeof value === 'boolean';

function listOf(form: Form): Form {
  return (value) => Array.isArray(value) && value.every(form);
}

/** Objects with any keys, `depth` of them in each other. */
function treeOf(form: Form, depth = 1): Form {
  const childForm = depth === 1 ? form : treeOf(form, depth - 1);
  return (value) => isObject(value) && Object.values(value).every(childForm);
}

/** An object without other fields than these. */
function recordOf(forms: Readonly<Record<string, Form>>, requiredFields: readonly string[] = []): Form {
  const formByName = new Map(Object.entries(forms));
  return (value) =>
    isObject(value) &&
    requiredFields.every((name) => Object.hasOwn(value, name)) &&
    Object.entries(value).every(([name, field]) => formByName.get(name)?.(field) ?? false);
}

const isTimedRights = treeOf(isNumber);
const isRights: Form = (value) =>
  isText(value) || (Array.isArray(value) && value.length === 2 && isText(value[0]) && isTimedRights(value[1]));

const isUser = recordOf({ k: listOf(isText), o: listOf(isText), e: isFlag, u: isNumber, i: isNumber, z: isFlag });
const isPolicy = recordOf({ k: isText, e: isText, c: isText, l: isText, r: isFlag, x: treeOf(isFlag) });

const FORM_BY_FIELD: ReadonlyMap<string, Form> = new Map(
  Object.entries<Form>({
    /** The proof compares the operations as a whole. */
    operations: isObject,
    own: isText,
    services: treeOf(isFlag),
    served: treeOf(isText),
    closed: treeOf(isFlag),
    storage: treeOf(listOf(isText)),
    impersonation: isSetting,
    readersMaintain: isSetting,
    sessionProperties: treeOf(isFlag),
    users: treeOf(isUser),
    grants: treeOf(isRights, 4),
    below: treeOf(recordOf({ l: isRights, n: listOf(isText) }), 3),
    policies: treeOf(listOf(isPolicy), 4),
    over: recordOf(
      {
        grants: treeOf(isRights, 2),
        denies: treeOf(listOf(recordOf({ l: isText, x: treeOf(isFlag) }, ['l'])), 2),
        members: treeOf(listOf(isText)),
      },
      ['grants', 'denies', 'members'],
    ),
  }),
);
