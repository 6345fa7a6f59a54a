/** Whether the local service asks for tokens, and how its first admin comes by one. */
import { Authenticator } from '../auth/authenticator.ts';
import { newToken, tokenDigest } from '../auth/static-token.ts';
import type { Access } from '../http/guard.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { RegistrationStore } from '../storage/registrations.ts';
import type { LocalAccess } from './access.ts';

export interface OpenedAccess {
  readonly access: Access;
  /** To be called after each change of who is trusted. */
  readonly changed: () => void;
  readonly firstAdminToken?: string;
}

export async function openAccess(
  wanted: LocalAccess = { kind: 'open' },
  trust: RegistrationStore,
  telemetry: Telemetry,
): Promise<OpenedAccess> {
  if (wanted.kind === 'open') return { access: wanted, changed: () => undefined };
  const { adminTokenSha256 } = wanted;
  const authenticator = new Authenticator({
    trust,
    telemetry,
    now: Date.now,
    loopbackIssuers: true,
    ...(adminTokenSha256 === undefined ? {} : { adminTokenSha256 }),
  });
  const firstAdminToken = adminTokenSha256 === undefined ? await makeFirstAdmin(trust) : undefined;
  return {
    access: { kind: 'tokens', authenticator },
    changed: () => authenticator.forget(),
    ...(firstAdminToken === undefined ? {} : { firstAdminToken }),
  };
}

/** Without an admin nobody could ever be let in. */
async function makeFirstAdmin(trust: RegistrationStore): Promise<string | undefined> {
  const records = [...(await trust.list('token')), ...(await trust.list('registration'))];
  if (records.some(({ rights }) => rights.role === 'admin')) return undefined;
  const token = newToken();
  await trust.add({
    kind: 'token',
    id: tokenDigest(token),
    rights: { role: 'admin' },
    note: 'the first admin',
    createdAtMs: Date.now(),
    createdBy: 'the local service',
  });
  return token;
}
