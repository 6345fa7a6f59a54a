/** What every deployed function asks of its callers. There is no setting that opens it. */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Authenticator } from '../auth/authenticator.ts';
import { registrationsFromEnvironment } from '../runtime/settings.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import { RegistrationStore } from '../storage/registrations.ts';
import type { Access } from './guard.ts';

/** @throws Error that names the variable which is missing or wrong */
export function deployedAccess(
  environment: NodeJS.ProcessEnv,
  client: DynamoDBClient,
  telemetry: Telemetry,
): Access & { readonly kind: 'tokens' } {
  const { table, adminTokenSha256 } = registrationsFromEnvironment(environment);
  const authenticator = new Authenticator({
    trust: new RegistrationStore(client, table),
    telemetry,
    now: Date.now,
    loopbackIssuers: false,
    ...(adminTokenSha256 === undefined ? {} : { adminTokenSha256 }),
  });
  return { kind: 'tokens', authenticator };
}
