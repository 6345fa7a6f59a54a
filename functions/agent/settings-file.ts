/** The settings file, in YAML or JSON. */
import { readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import { type AgentSettings, DEFAULT_SETTINGS, readSettings } from './mapping/settings.ts';

/** A settings file cannot be used. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  /** Each fault, with its path and what would be right. */
  readonly faults: readonly string[];

  constructor(message: string, faults: readonly string[] = [], options?: ErrorOptions) {
    super(message, options);
    this.faults = faults;
  }
}

/** @throws SettingsError with every fault of the file */
export function readSettingsFile(file: string | undefined): AgentSettings {
  if (file === undefined) return DEFAULT_SETTINGS;
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new SettingsError(`The settings file ${file} cannot be read: ${(cause as Error).message}`, [], {
      cause,
    });
  }
  const document = parseDocument(content, { logLevel: 'silent' });
  const [fault] = document.errors;
  if (fault !== undefined)
    throw new SettingsError(`The settings file ${file} is not YAML: ${fault.message.split('\n')[0]}`);
  const reading = readSettings(document.toJS({ maxAliasCount: 100 }));
  if ('settings' in reading) return reading.settings;
  throw new SettingsError(
    `The settings file ${file} has ${reading.faults.length} ${reading.faults.length === 1 ? 'fault' : 'faults'}:`,
    reading.faults,
  );
}
