import { toJsonString } from '@bufbuild/protobuf';
import { Command, Option } from 'commander';
import {
  PoolListSchema,
  PoolSchema,
  type StoredPool,
  StoredPoolSchema,
} from '../../gen/bundle/v1/pool_pb.ts';
import { UsageError } from '../failure.ts';
import { clientOf, type GlobalOptions, withGlobalOptions } from '../global-options.ts';
import { hasAnyName, messageOf, readInput } from '../input-file.ts';
import { poolTable, tierTable } from '../pool-table.ts';
import { print } from '../print.ts';
import { printable } from '../printable.ts';

interface PutOptions extends GlobalOptions {
  readonly name?: string;
  readonly ifMatch?: string;
  readonly replace: boolean;
}

interface DeleteOptions extends GlobalOptions {
  readonly ifMatch?: string;
}

const IF_MATCH = 'only as long as the pool has this etag';

export function poolCommand(): Command {
  const put = withGlobalOptions(
    new Command('put')
      .description('create a pool, or replace the one that was got')
      .argument('<file>', 'a Pool in ProtoJSON, or what "pool get --json" printed; - is standard input')
      .option('--name <name>', 'its name, where the file has none')
      .option('--if-match <etag>', `${IF_MATCH}; one that the file has is used by itself`)
      .addOption(new Option('--replace', 'whatever is there by now').default(false).conflicts('ifMatch')),
  ).action(async (file: string, options: PutOptions) => {
    const { pool, etag } = await readPool(file);
    const poolName = pool.poolName || options.name;
    if (poolName === undefined) {
      throw new UsageError('The pool has no name; give it as poolName in the file, or with --name.');
    }
    if (options.name !== undefined && options.name !== poolName) {
      throw new UsageError(
        `The pool is called ${JSON.stringify(poolName)} in the file and ${JSON.stringify(options.name)} by --name; give one of them.`,
      );
    }
    const ifMatch = options.replace ? '*' : (options.ifMatch ?? etag);
    const kept = await clientOf(options).putPool(
      { ...pool, poolName },
      ifMatch === undefined ? {} : { ifMatch },
    );
    if (options.json) return print(storedJson(kept));
    print(printable(`Pool ${poolName} is kept as ${kept.etag}.`));
  });
  const get = withGlobalOptions(
    new Command('get')
      .description('show a pool; with --json to change it and put it back')
      .argument('<name>'),
  ).action(async (name: string, options: GlobalOptions) => {
    const kept = await clientOf(options).getPool(name);
    if (options.json) return print(storedJson(kept));
    print(printable(`${name} ${kept.etag}`));
    print(tierTable(kept.pool?.tiers ?? []));
  });
  const list = withGlobalOptions(new Command('list').description('list the pools')).action(
    async (options: GlobalOptions) => {
      const pools = await clientOf(options).listPools();
      if (options.json)
        return print(toJsonString(PoolListSchema, { $typeName: 'bundle.v1.PoolList', pools: [...pools] }));
      print(poolTable(pools));
    },
  );
  const remove = withGlobalOptions(
    new Command('delete')
      .description('remove a pool')
      .argument('<name>')
      .option('--if-match <etag>', IF_MATCH),
  ).action(async (name: string, options: DeleteOptions) => {
    const { ifMatch } = options;
    await clientOf(options).deletePool(name, ifMatch === undefined ? {} : { ifMatch });
    print(printable(`Pool ${name} is removed.`));
  });
  return new Command('pool')
    .description('keep the pools that bundles are placed on')
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
  return { pool, ...(etag === '' ? {} : { etag }) };
}

function storedJson(kept: StoredPool): string {
  return toJsonString(StoredPoolSchema, kept, { alwaysEmitImplicit: true, prettySpaces: 2 });
}
