/**
 * Which of a node's devices a set of jobs gets. A share stands on one device and is never
 * spread; a whole device is idle before and nobody else's after. Exact: an assignment is
 * found whenever there is one, since shares are bins to be packed and first-fit would
 * sometimes say no where the answer is yes.
 */

import type { WorkBudget } from '../work.ts';
import { Amount, fits, NOTHING, sumOf } from './amounts.ts';

/** One device of a node. */
export interface Device {
  readonly index: number;
  /** Empty: the node does not say. Absent: unknown, as only a profile's can be, and so taken for any. */
  readonly model: string | undefined;
  /** Absent: unknown, as only a profile's can be, and so taken for enough. */
  readonly total: Amount | undefined;
  /** Shares that are taken. */
  readonly reserved: Amount;
  /** A job has a share of it, be it of nothing: one that asks for a model alone. */
  readonly shared: boolean;
  /** A job holds all of it. */
  readonly exclusive: boolean;
}

/** What one job asks of devices. An empty model is any. */
export type DeviceNeed =
  | { readonly kind: 'share'; readonly job: number; readonly amount: Amount; readonly model: string }
  | {
      readonly kind: 'whole';
      readonly job: number;
      readonly count: number;
      /** Capacity that each of them must have. */
      readonly atLeast: Amount;
      readonly model: string;
    };

/** Device indexes by job, in ascending order. */
export type DeviceAssignment = ReadonlyMap<number, readonly number[]>;

const UNBOUNDED = Amount.of(Number.POSITIVE_INFINITY);

/** Devices that are looked over in the time of one step. */
const DEVICES_PER_STEP = 8;

/**
 * Characters in the key of a state that a step pays for: writing them takes about as long, and
 * since the keys are kept, this bounds their bytes as well.
 */
const KEY_CHARACTERS_PER_STEP = 10;

interface Placed {
  readonly need: DeviceNeed;
  /** Position in the list of devices. */
  at: number;
}

interface Room {
  readonly device: Device;
  /** Devices of one kind differ in what stands on them alone. */
  readonly kind: number;
  reserved: Amount;
  exclusive: boolean;
}

/**
 * Assigns devices to all needs, or gives nothing where that is impossible. Shares go to
 * the fullest device that has room, so that whole ones stay whole; ties go to the lower index.
 *
 * @throws WorkExhaustedError
 */
export function assignDevices(
  devices: readonly Device[],
  needs: readonly DeviceNeed[],
  budget: WorkBudget,
): DeviceAssignment | undefined {
  if (needs.length === 0) return new Map();
  const rooms = roomsOf(devices, needs);
  if (!enoughInAll(rooms, needs)) return undefined;
  const [only] = needs;
  if (needs.length === 1 && only !== undefined) return assignOne(rooms, only);
  const placed: Placed[] = unitNeeds(needs).map((need) => ({ need, at: -1 }));
  if (!place(0, placed, rooms, new Set(), budget)) return undefined;

  const assignment = new Map<number, number[]>();
  for (const { need, at } of placed) {
    const index = rooms[at]?.device.index;
    if (index === undefined) continue;
    const indexes = assignment.get(need.job);
    if (indexes === undefined) assignment.set(need.job, [index]);
    else indexes.push(index);
  }
  for (const indexes of assignment.values()) indexes.sort((a, b) => a - b);
  return assignment;
}

/**
 * Whether {@link assignDevices} would find an assignment. One need, which is the usual case,
 * is answered by looking at each device once.
 *
 * @throws WorkExhaustedError
 */
export function canAssign(
  devices: readonly Device[],
  needs: readonly DeviceNeed[],
  budget: WorkBudget,
): boolean {
  const [need] = needs;
  if (need === undefined) return true;
  if (needs.length > 1) return assignDevices(devices, needs, budget) !== undefined;
  const wanted = need.kind === 'whole' ? need.count : 1;
  if (wanted > devices.length) return false;
  let able = 0;
  for (const device of devices) {
    if (canTake(device, device.reserved, device.exclusive, need)) able++;
    if (able >= wanted) return true;
  }
  return false;
}

/** One need gets the devices that it likes best: it leaves nobody without. */
function assignOne(rooms: readonly Room[], need: DeviceNeed): DeviceAssignment | undefined {
  const wanted = need.kind === 'whole' ? Math.ceil(need.count) : 1;
  const indexes = byPreference(rooms, need)
    .slice(0, wanted)
    .flatMap((at) => rooms[at]?.device.index ?? []);
  if (indexes.length < wanted) return undefined;
  return new Map([[need.job, indexes.sort((a, b) => a - b)]]);
}

/** The devices once an assignment is taken. */
export function takeDevices(
  devices: readonly Device[],
  needs: readonly DeviceNeed[],
  assignment: DeviceAssignment,
): readonly Device[] {
  if (needs.length === 0) return devices;
  const shares = new Map<number, Amount>();
  const whole = new Set<number>();
  for (const need of needs) {
    for (const index of assignment.get(need.job) ?? []) {
      if (need.kind === 'whole') whole.add(index);
      else shares.set(index, need.amount.plus(shares.get(index) ?? NOTHING));
    }
  }
  return devices.map((device) => {
    const share = shares.get(device.index);
    if (whole.has(device.index)) return { ...device, exclusive: true };
    return share === undefined ? device : { ...device, reserved: device.reserved.plus(share), shared: true };
  });
}

/**
 * The fewest idle devices that the needs take, of devices of which the idle ones are all alike.
 * They must be known to fit.
 *
 * @throws WorkExhaustedError
 */
export function fewestIdleTaken(
  devices: readonly Device[],
  needs: readonly DeviceNeed[],
  budget: WorkBudget,
): number {
  const whole = needs.reduce((sum, need) => sum + (need.kind === 'whole' ? Math.ceil(need.count) : 0), 0);
  if (needs.every((need) => need.kind === 'whole')) return whole;
  const idle = devices.filter(isIdle).length;
  let taken = whole;
  while (taken < idle && !canAssign(withIdle(devices, taken), needs, budget)) taken++;
  return taken;
}

/** The devices without those that are idle beyond this many. */
export function withIdle(devices: readonly Device[], count: number): readonly Device[] {
  let idle = 0;
  return devices.filter((device) => !isIdle(device) || idle++ < count);
}

/** Those of the devices that can take one of the needs at least: the search looks at each of them at every step. */
function roomsOf(devices: readonly Device[], needs: readonly DeviceNeed[]): Room[] {
  const kinds = new Map<string, number>();
  const rooms: Room[] = [];
  for (const device of devices) {
    const { reserved, exclusive, model, total, shared } = device;
    if (!needs.some((need) => canTake(device, reserved, exclusive, need))) continue;
    const looks = `${total?.key}|${shared}|${model}`;
    const kind = kinds.get(looks) ?? kinds.size;
    kinds.set(looks, kind);
    rooms.push({ device, kind, reserved, exclusive });
  }
  return rooms;
}

/** Nothing stands on it. */
export function isIdle({ reserved, shared, exclusive }: Device): boolean {
  return !exclusive && !shared && !reserved.isPositive;
}

/** Refuses early what no search could find: more whole devices than are idle, more shares than there is room. */
function enoughInAll(rooms: readonly Room[], needs: readonly DeviceNeed[]): boolean {
  let whole = 0;
  let shares = NOTHING;
  for (const need of needs) {
    if (need.kind === 'whole') whole += need.count;
    else shares = shares.plus(need.amount);
  }
  if (whole > rooms.filter(({ device }) => isIdle(device)).length) return false;
  const left = rooms.map(roomOf).filter((room) => room.isPositive);
  return fits(NOTHING, shares, sumOf(left));
}

/** One entry a device that is needed, the hardest first: whole ones, then shares by size; a named model before any. */
function unitNeeds(needs: readonly DeviceNeed[]): readonly DeviceNeed[] {
  const units = needs.flatMap((need): readonly DeviceNeed[] =>
    need.kind === 'whole' ? Array.from({ length: Math.ceil(need.count) }, () => need) : [need],
  );
  return units.sort((a, b) => {
    if (a.kind !== b.kind) return a.kind === 'whole' ? -1 : 1;
    if ((a.model === '') !== (b.model === '')) return a.model === '' ? 1 : -1;
    return sizeOf(b).compare(sizeOf(a));
  });
}

function sizeOf(need: DeviceNeed): Amount {
  return need.kind === 'whole' ? need.atLeast : need.amount;
}

function place(
  depth: number,
  placed: readonly Placed[],
  rooms: Room[],
  failed: Set<string>,
  budget: WorkBudget,
): boolean {
  const next = placed[depth];
  if (next === undefined) return true;
  const { need } = next;
  budget.spend(Math.ceil(rooms.length / DEVICES_PER_STEP));
  // The key costs more than most searches, which never fail once.
  let key = failed.size > 0 ? stateKey(depth, rooms, budget) : undefined;
  if (key !== undefined && failed.has(key)) return false;

  const tried = new Set<string>();
  for (const at of byPreference(rooms, need)) {
    const room = rooms[at];
    if (room === undefined) continue;
    budget.spend(1);
    // Devices that look alike are one choice.
    const looks = looksOf(room);
    if (tried.has(looks)) continue;
    tried.add(looks);
    const { reserved } = room;
    if (need.kind === 'whole') room.exclusive = true;
    else room.reserved = room.reserved.plus(need.amount);
    next.at = at;
    if (place(depth + 1, placed, rooms, failed, budget)) return true;
    room.exclusive = false;
    room.reserved = reserved;
  }
  key ??= stateKey(depth, rooms, budget);
  failed.add(key);
  return false;
}

/** Positions of the devices that can take it, the fullest first. */
function byPreference(rooms: readonly Room[], need: DeviceNeed): readonly number[] {
  const able: { readonly at: number; readonly room: number }[] = [];
  for (const [at, room] of rooms.entries()) {
    if (canTake(room.device, room.reserved, room.exclusive, need))
      able.push({ at, room: roomOf(room).value });
  }
  return able.sort((a, b) => (a.room === b.room ? a.at - b.at : a.room - b.room)).map((a) => a.at);
}

/** Whether the device has room for the need, with so much of it reserved, or all of it. */
function canTake(device: Device, reserved: Amount, exclusive: boolean, need: DeviceNeed): boolean {
  const { model, total, shared } = device;
  if (exclusive) return false;
  if (need.model !== '' && model !== undefined && model !== need.model) return false;
  if (need.kind === 'whole')
    return !shared && !reserved.isPositive && (total === undefined || fits(NOTHING, need.atLeast, total));
  return !need.amount.isPositive || total === undefined || fits(reserved, need.amount, total);
}

function roomOf({ device, reserved, exclusive }: Room): Amount {
  if (exclusive) return NOTHING;
  return device.total === undefined ? UNBOUNDED : device.total.minus(reserved);
}

function looksOf(room: Room): string {
  return `${room.kind}|${room.reserved.key}|${room.exclusive}`;
}

/** The multiset of devices: two ways to the same one fail or succeed alike. */
function stateKey(depth: number, rooms: readonly Room[], budget: WorkBudget): string {
  const key = `${depth}|${rooms.map(looksOf).sort().join('|')}`;
  budget.spend(Math.ceil(key.length / KEY_CHARACTERS_PER_STEP));
  return key;
}
