/**
 * Checks that a parsed JSON value is ProtoJSON of a message, and says of every place
 * where it is not what is there and what should be. The Protobuf library stops at
 * the first fault, names no path, drops what a number beyond 2^53 lost in parsing,
 * and takes the last of two spellings of one field.
 */
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonValue,
  ScalarType,
} from '@bufbuild/protobuf';
import { DurationSchema, StructSchema, TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { FindingCollector } from '../findings.ts';
import { didYouMean, nearestOf } from '../nearest.ts';
import { quote } from '../quote.ts';

/** JSON cannot carry what it does not know, as Protobuf can, so an unknown name is a fault. */
const UNKNOWN_FIELD = { code: 'unknown_field', severity: 'reject' } as const;
const INVALID_VALUE = { code: 'invalid_value', severity: 'reject' } as const;

/** Adds one finding, `unknown_field` or `invalid_value`, for every fault; none means that the library can read the value. */
export function checkJsonShape(schema: DescMessage, json: JsonValue, problems: FindingCollector): void {
  checkMessage(schema, json, '', problems);
}

function checkMessage(schema: DescMessage, json: JsonValue, path: string, problems: FindingCollector): void {
  if (schema.typeName === TimestampSchema.typeName || schema.typeName === DurationSchema.typeName) {
    checkWellKnown(schema, json, path, problems);
    return;
  }
  if (!isObject(json)) {
    invalid(problems, path, json, `an object (${schema.name})`);
    return;
  }
  // Its fields are whatever the client has.
  if (schema.typeName === StructSchema.typeName) return;
  const fields = fieldsByJsonName(schema);
  const seen = new Set<DescField>();
  for (const [key, value] of Object.entries(json)) {
    const field = fields.get(key);
    if (field === undefined) {
      const names = schema.fields.map((f) => f.jsonName);
      problems.report(
        UNKNOWN_FIELD,
        () => join(path, key),
        () =>
          `${schema.name} has no field ${quote(key)}${didYouMean(key, names, formOf(schema) ?? 'leave it out')}`,
      );
      continue;
    }
    if (seen.has(field)) {
      problems.report(
        INVALID_VALUE,
        () => join(path, field.name),
        () => `The field is given twice, as "${field.jsonName}" and as "${field.name}"; give it once.`,
      );
      continue;
    }
    seen.add(field);
    // null is ProtoJSON's way to leave a field out.
    if (value !== null) checkField(field, value, join(path, field.name), problems);
  }
}

/** How to write a message that is one of several things: other formats say which with a member of its own, such as `kind`. */
function formOf({ fields, oneofs }: DescMessage): string | undefined {
  const [oneof] = oneofs;
  if (oneof === undefined || fields.some((field) => field.oneof !== oneof)) return undefined;
  return `give ${fields.map(({ jsonName }) => `{"${jsonName}": {…}}`).join(' or ')}`;
}

function checkField(field: DescField, value: JsonValue, path: string, problems: FindingCollector): void {
  switch (field.fieldKind) {
    case 'message':
      checkMessage(field.message, value, path, problems);
      return;
    case 'enum':
      checkEnum(field.enum, value, path, problems);
      return;
    case 'scalar':
      checkScalar(field.scalar, value, path, problems);
      return;
    case 'list':
      if (!Array.isArray(value)) {
        invalid(problems, path, value, 'an array');
        return;
      }
      for (const [i, element] of value.entries()) checkElement(field, element, `${path}[${i}]`, problems);
      return;
    case 'map':
      if (!isObject(value)) {
        invalid(problems, path, value, 'an object');
        return;
      }
      for (const [key, element] of Object.entries(value)) {
        checkElement(field, element, `${path}[${quote(key)}]`, problems);
      }
      return;
  }
}

function checkElement(
  field: DescField & { fieldKind: 'list' | 'map' },
  element: JsonValue,
  path: string,
  problems: FindingCollector,
): void {
  if (field.message !== undefined) checkMessage(field.message, element, path, problems);
  else if (field.enum !== undefined) checkEnum(field.enum, element, path, problems);
  else if (field.scalar !== undefined) checkScalar(field.scalar, element, path, problems);
}

function checkEnum(desc: DescEnum, value: JsonValue, path: string, problems: FindingCollector): void {
  // A newer agent's number is kept; a name that is not known has no number to keep.
  if (typeof value === 'number' && isInt32(value)) return;
  if (typeof value === 'string') {
    const names = desc.values.map((v) => v.name);
    if (names.includes(value)) return;
    // What is unspecified is left out rather than named.
    const sendable = names.filter((name) => !name.endsWith('_UNSPECIFIED'));
    const list = `send one of ${sendable.join(', ')}`;
    const nearest = nearestOf(value, names);
    const isSendable = nearest === undefined || sendable.includes(nearest);
    invalid(
      problems,
      path,
      value,
      `a ${desc.name}`,
      isSendable ? didYouMean(value, names, list) : `; ${list}.`,
    );
    return;
  }
  const example = desc.values.at(-1)?.name ?? '';
  invalid(problems, path, value, `the name of a ${desc.name}`, `, such as "${example}".`);
}

const MIN_INT32 = -(2 ** 31);
const MAX_INT32 = 2 ** 31 - 1;
const MAX_UINT32 = 2n ** 32n - 1n;
const MAX_UINT64 = 2n ** 64n - 1n;

function checkScalar(type: ScalarType, value: JsonValue, path: string, problems: FindingCollector): void {
  switch (type) {
    case ScalarType.STRING:
      if (typeof value !== 'string') invalid(problems, path, value, 'a string');
      else if (!value.isWellFormed()) invalid(problems, path, value, 'a string without unpaired surrogates');
      return;
    case ScalarType.BOOL:
      if (typeof value !== 'boolean') invalid(problems, path, value, 'true or false');
      return;
    case ScalarType.UINT32:
      checkUnsigned(value, MAX_UINT32, 'uint32', path, problems);
      return;
    case ScalarType.UINT64:
      checkUnsigned(value, MAX_UINT64, 'uint64', path, problems);
      return;
    case ScalarType.INT32:
      if (!isInt32(value))
        invalid(problems, path, value, 'an int32', ', an integer from -2147483648 to 2147483647.');
      return;
    case ScalarType.DOUBLE:
      if (!isDouble(value))
        invalid(problems, path, value, 'a number', ', or "NaN", "Infinity" or "-Infinity".');
      return;
    default:
      // Other integers and bytes: the library's own check has the last word.
      return;
  }
}

function checkUnsigned(
  value: JsonValue,
  max: bigint,
  name: string,
  path: string,
  problems: FindingCollector,
): void {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && BigInt(value) <= max) {
    if (Number.isSafeInteger(value)) return;
    const why = ': a JSON number beyond 2^53 may have lost its last digits.';
    invalid(problems, path, value, 'a string of digits', why);
    return;
  }
  if (typeof value === 'string' && /^\d{1,20}$/.test(value) && BigInt(value) <= max) return;
  invalid(problems, path, value, `a ${name}`, `, an integer from 0 to ${max}.`);
}

function isInt32(value: JsonValue): boolean {
  const number = typeof value === 'string' && /^-?\d{1,10}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number >= MIN_INT32 && number <= MAX_INT32;
}

/** ProtoJSON writes what JSON has no number for as a string, and takes other numbers as strings too. */
function isDouble(value: JsonValue): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'string') return false;
  if (/^(NaN|-?Infinity)$/.test(value)) return true;
  return /^-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(value) && Number.isFinite(Number(value));
}

function checkWellKnown(
  schema: DescMessage,
  json: JsonValue,
  path: string,
  problems: FindingCollector,
): void {
  const isTimestamp = schema.typeName === TimestampSchema.typeName;
  try {
    if (typeof json === 'string' && (!isTimestamp || isOnCalendar(json))) {
      fromJson(schema, json);
      return;
    }
  } catch {
    // The library's text names neither the value nor the form; ours does.
  }
  if (isTimestamp) {
    const example = ', such as "2026-01-31T12:00:00Z".';
    invalid(problems, path, json, 'an RFC 3339 timestamp of the years 1 to 9999', example);
  } else {
    invalid(problems, path, json, 'a duration in seconds', ', such as "3600s".');
  }
}

/** The library reads 30 February as 2 March, and 24:00 as the next day. */
function isOnCalendar(timestamp: string): boolean {
  const [, year, month, day, hour] = /^(\d{4})-(\d\d)-(\d\d)T(\d\d)/.exec(timestamp) ?? [];
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  return date.getUTCDate() === Number(day) && Number(hour) < 24;
}

/** @param more what follows the sentence, from its punctuation on */
function invalid(
  problems: FindingCollector,
  path: string,
  value: JsonValue,
  expected: string,
  end = '.',
): void {
  problems.report(
    INVALID_VALUE,
    () => path,
    () => `${describe(value)} is given where ${expected} is expected${end}`,
  );
}

function describe(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'string' ? quote(value) : String(value);
}

function join(path: string, name: string): string {
  const short = name.length > 80 ? `${name.slice(0, 80)}…` : name;
  return path === '' ? short : `${path}.${short}`;
}

function isObject(value: JsonValue): value is { [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const fieldIndexes = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

/** ProtoJSON readers take both spellings of a field. */
function fieldsByJsonName(schema: DescMessage): ReadonlyMap<string, DescField> {
  let index = fieldIndexes.get(schema);
  if (index === undefined) {
    index = new Map(schema.fields.flatMap((f) => [[f.jsonName, f] as const, [f.name, f] as const]));
    fieldIndexes.set(schema, index);
  }
  return index;
}
