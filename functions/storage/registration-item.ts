/** A registration or a token as a DynamoDB item and back. */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { KeySource, Registration, Rights, StaticToken } from '../core/registration.ts';

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
  item.subject = { S: record.subject };
  if (record.keys.kind === 'uri') item.jwksUri = { S: record.keys.uri };
  if (record.keys.kind === 'inline') item.jwks = { S: record.keys.jwks };
  return item;
}

/** @throws Error for an item that grants nothing that is known: it must not be taken for one that does */
export function registrationFromItem(item: Item): Registration | StaticToken {
  const text = (name: string): string => {
    const value = item[name]?.S;
    if (value === undefined) throw new Error(`The grant ${item.id?.S} has no readable attribute "${name}".`);
    return value;
  };
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
    subject: text('subject'),
    keys: keySourceOf(item.jwksUri?.S, item.jwks?.S),
  };
}

function rightsOf(role: string, clusterId: string | undefined): Rights {
  if (role === 'agent' && clusterId !== undefined && clusterId !== '') return { role, clusterId };
  if ((role === 'scheduler' || role === 'admin') && clusterId === undefined) return { role };
  throw new Error(
    `A grant has the role ${JSON.stringify(role)} with the cluster ${JSON.stringify(clusterId)}.`,
  );
}

function keySourceOf(uri: string | undefined, jwks: string | undefined): KeySource {
  if (jwks !== undefined) return { kind: 'inline', jwks };
  return uri === undefined ? { kind: 'discovery' } : { kind: 'uri', uri };
}
