/**
 * A DynamoDB client over a network that loses, delays and reorders, in front of the model. It tries
 * again as the SDK does, so that a write whose response was lost meets its own earlier copy.
 */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { StoreUnavailableError } from '../../functions/storage/errors.ts';
import type { Command, DynamoDbModel } from './dynamodb-model.ts';
import type { Faults } from './faults.ts';
import type { World } from './world.ts';

/** As functions/storage/client.ts has it. */
const MAX_ATTEMPTS = 5;
const REQUEST_TIMEOUT_MS = 2_000;

/** What a client of the running process sends; the process is whoever calls `send`. */
export function simulatedClient(world: World, model: DynamoDbModel, faults: Faults): DynamoDBClient {
  const once = (command: Command): Promise<object> =>
    new Promise((resolve, reject) => {
      const owner = world.current;
      const name = command.constructor.name.replace('Command', '');
      let over = false;
      const end = (ms: number, settled: () => void): void => {
        world.schedule(ms, owner, () => {
          if (over) return;
          over = true;
          settled();
        });
      };
      end(REQUEST_TIMEOUT_MS, () => reject(new StoreUnavailableError(new Error(`${name} timed out`))));
      const fate = faults.request();
      if (fate === 'request lost') {
        world.note(`${owner.name}: ${name} lost on its way`);
        return;
      }
      world.schedule(faults.latencyMs(), world.nature, () => {
        faults.operations++;
        if (fate === 'throttled') {
          world.note(`${owner.name}: ${name} throttled`);
          return end(faults.latencyMs(), () => reject(new StoreUnavailableError(new Error('throttled'))));
        }
        model.tick(world.wallMs());
        let settled: () => void;
        try {
          const output = model.execute(command);
          settled = () => resolve(output);
        } catch (error) {
          settled = () => reject(error);
        }
        if (fate === 'response lost') {
          world.note(`${owner.name}: response to ${name} lost`);
          return;
        }
        end(faults.latencyMs(), settled);
      });
    });

  const send = async (command: Command): Promise<object> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await once(command);
      } catch (error) {
        if (!(error instanceof StoreUnavailableError) || attempt === MAX_ATTEMPTS) throw error;
        await new Promise((resolve) => setTimeout(resolve, world.random() * 100 * 2 ** attempt));
      }
    }
  };
  // The stores use nothing but `send`.
  return { send } as unknown as DynamoDBClient;
}
