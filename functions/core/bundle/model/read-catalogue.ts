/** The operator's instance-type catalogue as it is in a file. */
import { didYouMean } from '../../nearest.ts';
import { quote } from '../../quote.ts';
import { utf8Length } from '../../utf8-length.ts';
import { catalogueWith, type InstanceCatalogue, type InstanceTypeFacts } from './catalogue.ts';
import { MAX_NAME_BYTES } from './limits.ts';

/**
 * The catalogue says something that cannot be.
 *
 * @example
 * ```ts
 * import { CatalogueError } from '@resource-map/client/bundle';
 *
 * const isFaultOfFile = (error: unknown): boolean => error instanceof CatalogueError;
 * ```
 */
export class CatalogueError extends Error {
  override readonly name = 'CatalogueError';
}

const FIELDS = ['totalCapacity', 'totalCores'] as const satisfies readonly (keyof InstanceTypeFacts)[];

/**
 * Reads a JSON object of instance types, each an object with `totalCapacity`, `totalCores` or
 * both: `{"p5.48xlarge": {"totalCapacity": 400}}`. What it says goes over the built-in
 * entries, field by field.
 *
 * @throws CatalogueError that names the first entry that is wrong, its value and the remedy
 *
 * @example
 * ```ts
 * import { readCatalogue } from '@resource-map/client/bundle';
 *
 * const catalogue = readCatalogue('{"p5.48xlarge": {"totalCapacity": 400}}');
 * ```
 */
export function readCatalogue(json: string): InstanceCatalogue {
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch (cause) {
    throw new CatalogueError(`The instance-type catalogue is no JSON: ${(cause as Error).message}.`, {
      cause,
    });
  }
  if (!isRecord(parsed)) {
    throw new CatalogueError(
      `The instance-type catalogue is ${shown(parsed)}; it must be an object such as {"p5.48xlarge": {"totalCapacity": 400}}.`,
    );
  }
  return catalogueWith(
    Object.entries(parsed).map(([name, facts]) => [checkedName(name), factsOf(name, facts)]),
  );
}

function checkedName(name: string): string {
  if (name !== '' && utf8Length(name) <= MAX_NAME_BYTES) return name;
  throw new CatalogueError(
    `An instance type of the catalogue is called ${quote(name)}; a name has 1 to ${MAX_NAME_BYTES} bytes.`,
  );
}

function factsOf(name: string, facts: unknown): InstanceTypeFacts {
  if (!isRecord(facts)) {
    throw new CatalogueError(
      `The instance type ${quote(name)} of the catalogue is ${shown(facts)}; it must be an object with ${FIELDS.join(' or ')} or both.`,
    );
  }
  for (const [field, value] of Object.entries(facts)) {
    if (!FIELDS.some((known) => known === field)) {
      throw new CatalogueError(
        `The instance type ${quote(name)} of the catalogue has ${quote(field)}, which is not known${didYouMean(field, FIELDS, `known are ${FIELDS.join(' and ')}`)}`,
      );
    }
    if (!(typeof value === 'number' && Number.isFinite(value) && value >= 0)) {
      throw new CatalogueError(
        `The instance type ${quote(name)} of the catalogue has ${shown(value)} for ${field}; give a number of 0 or more, or leave out what is not known.`,
      );
    }
  }
  return facts;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 100);
}
