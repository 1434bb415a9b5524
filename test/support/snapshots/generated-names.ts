import { Chance } from './chance.js';

/** Names for a generated snapshot: called once for every id, counting from 1. */
export interface GeneratedNames {
  person(id: number): string;
  group(id: number): string;
  catalog(id: number): string;
  schema(id: number): string;
  table(id: number): string;
}

export function numberedNames(): GeneratedNames {
  return {
    person: (id) => `person_${id}`,
    group: (id) => `group_${id}`,
    catalog: (id) => `catalog_${id}`,
    schema: (id) => `schema_${id}`,
    table: (id) => `table_${id}`,
  };
}

/** Realistic words, common ones more often; a number makes repeated names distinct. */
export function realisticNames(seed: number): GeneratedNames {
  const chance = new Chance(seed);
  return {
    person: distinct(chance, [FIRST, LAST]),
    group: distinct(chance, [TEAMS, ROLES]),
    catalog: distinct(chance, [SYSTEMS]),
    schema: distinct(chance, [AREAS, STAGES]),
    table: distinct(chance, [SUBJECTS, KINDS, GRAINS]),
  };
}

function distinct(chance: Chance, lists: readonly (readonly string[])[]): () => string {
  const taken = new Map<string, number>();
  return () => {
    const name = lists.map((list) => chance.pick(list)).join('_');
    const times = (taken.get(name) ?? 0) + 1;
    taken.set(name, times);
    return times === 1 ? name : `${name}_${times}`;
  };
}

const words = (text: string): string[] => text.split(' ');
const FIRST = words(
  'anna ben clara david elena felix greta hannes ines jonas karla leon maria nils olga paul quirin rosa stefan tina ulrich vera walter xenia yusuf zora amir bianca carlos dora emil fatima gustav heidi igor julia kemal lena marek nadia oskar petra ralf sofia timo ursula viktor wanda alina boris celine dennis esther florian gabriele henning ida jan katrin lukas mona norbert orhan pia',
);
const LAST = words(
  'mueller schmidt schneider fischer weber meyer wagner becker schulz hoffmann koch bauer richter klein wolf neumann schwarz zimmermann braun krueger hofmann hartmann lange werner krause lehmann kowalski novak garcia rossi dubois larsen jensen yilmaz kaya demir nowak horvat silva costa moreau laurent ivanov petrov schubert vogel friedrich keller guenther frank berger winkler roth beck lorenz baumann franke albrecht schuster simon ludwig boehm winter kraus martin schumacher kraemer vogt stein jaeger otto sommer gross seidel heinrich brandt haas schreiber graf schulte dietrich ziegler kuhn kuehn pohl engel horn busch bergmann thomas voigt sauer arnold pfeiffer',
);
const TEAMS = words(
  'finance sales marketing logistics risk treasury controlling support platform research legal people',
);
const ROLES = words('readers analysts engineers stewards owners auditors');
const SYSTEMS = words('lake warehouse crm erp billing telemetry events archive partners staging reporting sandbox');
const AREAS = words(
  'orders customers payments invoices shipments inventory pricing campaigns contracts employees suppliers returns claims budgets forecasts tickets sessions devices products stores',
);
const STAGES = words('raw clean curated mart daily history reference');
const SUBJECTS = words(
  'order customer payment invoice shipment stock price campaign contract employee supplier return claim budget forecast ticket session device product store region currency account address contact visit basket voucher refund tax',
);
const KINDS = words('header line status event summary detail snapshot delta lookup link score audit note limit');
const GRAINS = words('hourly daily weekly monthly current archive eu us apac v1 v2 test');
