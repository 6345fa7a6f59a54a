/** A registration or a token as a DynamoDB item and back. */
import { createHash } from 'node:crypto';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type {
  AttributeMatch,
  AttributeRegistration,
  AttributeRegistrations,
  KeySource,
  Registration,
  Rights,
  StaticToken,
} from '../core/registration.ts';

export type Item = Record<string, AttributeValue>;

export function registrationToItem(record: Registration | StaticToken): Item {
  const item: Item = {
    kind: { S: record.kind },
    id: { S: record.id },
    role: { S: record.rights.role },
    note: { S: record.note },
    createdAt: { N: String(record.createdAtMs) },
    createdBy: { S: record.createdBy },
  };
  if (record.rights.role === 'agent') item.clusterId = { S: record.rights.clusterId };
  if (record.kind === 'token') {
    if (record.expiresAtS !== undefined) item.expiresAt = { N: String(record.expiresAtS) };
    return item;
  }
  item.issuer = { S: record.issuer };
  item.audience = { S: record.audience };
  if (record.match.kind === 'subject') item.subject = { S: record.match.subject };
  if (record.keys.kind === 'uri') item.jwksUri = { S: record.keys.uri };
  if (record.keys.kind === 'inline') item.jwks = { S: record.keys.jwks };
  return item;
}

/** @throws Error for an item that grants nothing that is known: it must not be taken for one that does */
export function registrationFromItem(item: Item): Registration | StaticToken {
  const text = (name: string): string => textOf(item, name);
  const integer = (name: string): number => {
    const value = item[name]?.N;
    // What is no number compares as neither before nor after now: such a token would never expire.
    if (value === undefined || !/^\d+$/.test(value)) {
      throw new Error(`The grant ${item.id?.S} has no readable attribute "${name}".`);
    }
    return Number(value);
  };
  const common = {
    id: text('id'),
    rights: rightsOf(text('role'), item.clusterId?.S),
    note: text('note'),
    createdAtMs: integer('createdAt'),
    createdBy: text('createdBy'),
  };
  if (text('kind') === 'token') {
    return {
      kind: 'token',
      ...common,
      ...(item.expiresAt === undefined ? {} : { expiresAtS: integer('expiresAt') }),
    };
  }
  return {
    kind: 'registration',
    ...common,
    issuer: text('issuer'),
    audience: text('audience'),
    match: { kind: 'subject', subject: text('subject') },
    keys: keySourceOf(item.jwksUri?.S, item.jwks?.S),
  };
}

/** An item of its own for each issuer and audience, since its registrations are looked up together. */
export function attributesToItem({
  id,
  issuer,
  audience,
  keys,
  registrations,
}: AttributeRegistrations): Item {
  const entries = registrations.map(({ id: own, match, rights, note, createdAtMs, createdBy }) => ({
    M: {
      id: { S: own },
      role: { S: rights.role },
      note: { S: note },
      createdAt: { N: String(createdAtMs) },
      createdBy: { S: createdBy },
      ...(match.kind === 'claim'
        ? { claim: { S: match.claim }, claimValue: { S: match.value } }
        : { emailDomain: { S: match.domain } }),
    },
  }));
  return {
    kind: { S: 'attributes' },
    id: { S: id },
    issuer: { S: issuer },
    audience: { S: audience },
    ...(keys.kind === 'uri' ? { jwksUri: { S: keys.uri } } : {}),
    ...(keys.kind === 'inline' ? { jwks: { S: keys.jwks } } : {}),
    registrations: { L: entries },
    // What a write expects to find: not every engine compares lists.
    digest: { S: createHash('sha256').update(JSON.stringify(entries)).digest('hex') },
  };
}

/** @throws Error for an item that cannot be read whole: what is left of it might allow more */
export function attributesFromItem(item: Item): AttributeRegistrations {
  const common = {
    issuer: textOf(item, 'issuer'),
    audience: textOf(item, 'audience'),
    keys: keySourceOf(item.jwksUri?.S, item.jwks?.S),
  };
  const registrations = (item.registrations?.L ?? []).map(
    ({ M: entry = {} }): AttributeRegistration => ({
      kind: 'registration',
      ...common,
      id: textOf(entry, 'id'),
      rights: rightsOf(textOf(entry, 'role'), undefined),
      note: textOf(entry, 'note'),
      createdAtMs: Number(entry.createdAt?.N),
      createdBy: textOf(entry, 'createdBy'),
      match: attributeMatchOf(entry),
    }),
  );
  return { kind: 'attributes', id: textOf(item, 'id'), ...common, registrations };
}

function attributeMatchOf(entry: Item): AttributeMatch {
  return entry.emailDomain === undefined
    ? { kind: 'claim', claim: textOf(entry, 'claim'), value: textOf(entry, 'claimValue') }
    : { kind: 'email_domain', domain: textOf(entry, 'emailDomain') };
}

function textOf(item: Item, name: string): string {
  const value = item[name]?.S;
  if (value === undefined)
    throw new Error(`The registration ${item.id?.S} has no readable attribute "${name}".`);
  return value;
}

function rightsOf(role: string, clusterId: string | undefined): Rights {
  if (role === 'agent' && clusterId !== undefined && clusterId !== '') return { role, clusterId };
  if (clusterId === undefined) {
    if (role === 'scheduler' || role === 'viewer' || role === 'monitor' || role === 'admin') return { role };
  }
  throw new Error(
    `A grant has the role ${JSON.stringify(role)} with the cluster ${JSON.stringify(clusterId)}.`,
  );
}

function keySourceOf(uri: string | undefined, jwks: string | undefined): KeySource {
  if (jwks !== undefined) return { kind: 'inline', jwks };
  return uri === undefined ? { kind: 'discovery' } : { kind: 'uri', uri };
}
