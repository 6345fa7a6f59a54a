/** Tokens and registrations as a person reads them. */
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import type { Registration, Token } from '../gen/resourcemap/v1/access_pb.ts';
import { table } from '../terminal/table.ts';
import { rightsText } from './registration-options.ts';

/** As many digits as name one to revoke or remove. */
const ID_DIGITS = 12;

export function tokenTable(tokens: readonly Token[], nowMs: number): string {
  if (tokens.length === 0) return 'No token is issued; rmap token issue issues one.';
  return table(
    [{ title: 'ID' }, { title: 'FOR' }, { title: 'CREATED' }, { title: 'EXPIRES' }, { title: 'NOTE' }],
    tokens.map((token) => [
      token.id.slice(0, ID_DIGITS),
      rightsText(token),
      timeText(token.createdAt),
      expiryText(token.expiresAt, nowMs),
      token.note,
    ]),
  );
}

export function registrationTable(registrations: readonly Registration[]): string {
  if (registrations.length === 0) return 'No identity is registered; rmap trust add registers one.';
  return table(
    [
      { title: 'ID' },
      { title: 'FOR' },
      { title: 'CREATED' },
      { title: 'ISSUER' },
      { title: 'AUDIENCE' },
      { title: 'WHOSE TOKENS' },
      { title: 'NOTE' },
    ],
    registrations.map((each) => [
      each.id.slice(0, ID_DIGITS),
      rightsText(each),
      timeText(each.createdAt),
      each.issuer,
      each.audience,
      matchText(each),
      each.note,
    ]),
  );
}

/** The subject, or what the tokens of several subjects have in common. */
export function matchText({ subject, claim, claimValue, emailDomain }: Registration): string {
  if (claim !== '') return `${claim}=${claimValue}`;
  return emailDomain === '' ? subject : `@${emailDomain}`;
}

/** A service refuses a token from the second on at which it expires. */
function expiryText(expiresAt: Timestamp | undefined, nowMs: number): string {
  if (expiresAt === undefined) return 'never';
  return `${timeText(expiresAt)}${timestampMs(expiresAt) <= nowMs ? ' (expired)' : ''}`;
}

/** In UTC, to the second. */
function timeText(time: Timestamp | undefined): string {
  return time === undefined ? '-' : new Date(timestampMs(time)).toISOString().replace(/\.\d+Z$/, 'Z');
}
