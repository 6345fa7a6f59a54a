import { toJsonString } from '@bufbuild/protobuf';
import { Command, InvalidArgumentError, Option } from 'commander';
import { parseEntityTags } from '../../core/entity-tags.ts';
import {
  PoolListSchema,
  PoolSchema,
  type StoredPool,
  StoredPoolSchema,
} from '../../gen/resourcemap/bundle/v1/pool_pb.ts';
import { printable } from '../../terminal/printable.ts';
import { UsageError } from '../failure.ts';
import { clientOf, type GlobalOptions, withGlobalOptions } from '../global-options.ts';
import { parseNonEmpty } from '../id-arguments.ts';
import { hasAnyName, messageOf, readInput } from '../input-file.ts';
import { poolTable, tierTable } from '../pool-table.ts';
import { print } from '../print.ts';
import { type Remedies, withRemedies } from '../remedies.ts';

interface PutOptions extends GlobalOptions {
  readonly name?: string;
  readonly ifMatch?: string;
  readonly replace: boolean;
}

interface DeleteOptions extends GlobalOptions {
  readonly ifMatch?: string;
}

/** Added to a command that changes a pool. */
function ifMatchOption(more = ''): Option {
  return new Option(
    '--if-match <etag>',
    `only as long as the pool has this etag, as "pool list" shows it, quotes included${more}`,
  ).argParser((etag: string) => {
    if (isEtag(etag)) return etag;
    throw new InvalidArgumentError(`An etag has quotes, which a shell takes off: '"…"'.`);
  });
}

function isEtag(text: string): boolean {
  return text === '*' || (parseEntityTags(text) ?? []).length > 0;
}

/** What the service says of a pool that is not there, or not as it was. */
function poolRemedies(name: string, expected: string | undefined): Remedies {
  const pool = `Pool ${JSON.stringify(name)}`;
  const argument = /^[\w.-]+$/.test(name) ? name : JSON.stringify(name);
  const got = `rmap pool get --json ${argument} prints it, to change and put back`;
  return {
    precondition_required: () =>
      `${pool} is there already, and not as it was given; ${got}, and --replace puts the given one in its place.`,
    pool_changed: () =>
      expected === '*'
        ? `${pool} is not there, and nothing was changed; rmap pool list shows those that are.`
        : `${pool} no longer has the etag ${expected}, and nothing was changed; ${got}.`,
  };
}

export function poolCommand(): Command {
  const put = withGlobalOptions(
    new Command('put')
      .description('create a pool, or replace the one that was got')
      .argument('<file>', 'a Pool in ProtoJSON, or what "pool get --json" printed; - is standard input')
      .option('--name <name>', 'its name, where the file has none')
      .addOption(ifMatchOption('; one that the file has is used by itself'))
      .addOption(new Option('--replace', 'whatever is there by now').default(false).conflicts('ifMatch')),
  ).action(async (file: string, options: PutOptions) => {
    const { pool, etag } = await readPool(file);
    const poolName = pool.poolName || (options.name ?? '');
    if (poolName === '') {
      throw new UsageError('The pool has no name; give it as poolName in the file, or with --name.');
    }
    if (options.name !== undefined && options.name !== poolName) {
      throw new UsageError(
        `The pool is called ${JSON.stringify(poolName)} in the file and ${JSON.stringify(options.name)} by --name; give one of them.`,
      );
    }
    const ifMatch = options.replace ? '*' : (options.ifMatch ?? etag);
    const kept = await withRemedies(poolRemedies(poolName, ifMatch), () =>
      clientOf(options).putPool({ ...pool, poolName }, ifMatch === undefined ? {} : { ifMatch }),
    );
    if (options.json) return print(storedJson(kept));
    print(printable(`Saved pool ${poolName} (etag ${kept.etag}).`));
  });
  const get = withGlobalOptions(
    new Command('get')
      .description('show a pool; with --json to change it and put it back')
      .argument('<name>', 'its name', parseNonEmpty('pool name')),
  ).action(async (name: string, options: GlobalOptions) => {
    const kept = await clientOf(options).pool(name);
    if (options.json) return print(storedJson(kept));
    print(printable(`${name} ${kept.etag}`));
    print(tierTable(kept.pool?.tiers ?? []));
  });
  const list = withGlobalOptions(new Command('list').description('list the pools')).action(
    async (options: GlobalOptions) => {
      const pools = await clientOf(options).pools();
      if (options.json)
        return print(
          toJsonString(PoolListSchema, { $typeName: 'resourcemap.bundle.v1.PoolList', pools: [...pools] }),
        );
      print(pools.length === 0 ? 'No pools. Create one with "rmap pool put FILE".' : poolTable(pools));
    },
  );
  const remove = withGlobalOptions(
    new Command('delete')
      .description('remove a pool')
      .argument('<name>', 'its name', parseNonEmpty('pool name'))
      .addOption(ifMatchOption()),
  ).action(async (name: string, options: DeleteOptions) => {
    const { ifMatch } = options;
    await withRemedies(poolRemedies(name, ifMatch), () =>
      clientOf(options).deletePool(name, ifMatch === undefined ? {} : { ifMatch }),
    );
    print(printable(`Pool ${name} is removed.`));
  });
  return new Command('pool')
    .description('manage placement pools')
    .addCommand(put)
    .addCommand(get)
    .addCommand(list)
    .addCommand(remove);
}

/** A pool, and its etag where the file is what `pool get --json` printed. */
async function readPool(file: string) {
  const bytes = await readInput(file);
  if (!hasAnyName(bytes, ['pool', 'etag'])) return { pool: messageOf(PoolSchema, file, bytes) };
  const { pool, etag } = messageOf(StoredPoolSchema, file, bytes);
  if (pool === undefined) throw new UsageError(`${file} has an etag and no pool.`);
  if (etag !== '' && !isEtag(etag)) {
    throw new UsageError(
      `${file}: etag is ${JSON.stringify(etag)}, which is none; leave it as "pool get --json" printed it.`,
    );
  }
  return { pool, ...(etag === '' ? {} : { etag }) };
}

function storedJson(kept: StoredPool): string {
  return toJsonString(StoredPoolSchema, kept, { alwaysEmitImplicit: true, prettySpaces: 2 });
}
