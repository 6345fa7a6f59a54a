/** What `rmap trust` and `rmap token` share. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type AccessClient, createAccessClient } from '../client/access-client.ts';
import { Role } from '../gen/resourcemap/v1/access_pb.ts';
import { type GlobalOptions, serviceOf } from './global-options.ts';

const ROLES = {
  agent: Role.AGENT,
  scheduler: Role.SCHEDULER,
  viewer: Role.VIEWER,
  monitor: Role.MONITOR,
  admin: Role.ADMIN,
} as const;

export interface RightsOptions extends GlobalOptions {
  readonly role: keyof typeof ROLES;
  readonly cluster: string;
  readonly note: string;
}

export function withRights(command: Command): Command {
  return command
    .addOption(
      new Option('--role <role>', 'what it allows').choices(Object.keys(ROLES)).makeOptionMandatory(),
    )
    .option('--cluster <id>', 'the one cluster of an agent', '')
    .option('--note <text>', 'for people', '');
}

export function rightsOf({ role, cluster, note }: RightsOptions): {
  role: Role;
  clusterId: string;
  note: string;
} {
  return { role: ROLES[role], clusterId: cluster, note };
}

/** Role and cluster as a table shows them. */
export function rightsText({ role, clusterId }: { role: Role; clusterId: string }): string {
  return role === Role.AGENT ? `agent of ${clusterId}` : Role[role].toLowerCase();
}

export function accessClientOf(options: GlobalOptions): AccessClient {
  return createAccessClient(serviceOf(options));
}

/** A lifetime such as 90d, 12h or 30m. @returns seconds */
export function parseLifetime(value: string): bigint {
  const [, number, unit] = /^(\d{1,6})([mhd])$/.exec(value) ?? [];
  const seconds = { m: 60n, h: 3_600n, d: 86_400n }[unit ?? ''];
  if (number !== undefined && seconds !== undefined) return BigInt(number) * seconds;
  throw new InvalidArgumentError(
    'A lifetime is a number of minutes, hours or days, such as 30m, 12h or 90d.',
  );
}
