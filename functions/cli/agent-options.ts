/** Options that `rmap snapshot` and `rmap agent` share. */
import type { AgentSettings } from '../agent/mapping/settings.ts';
import { clusterIdFault } from '../core/snapshot/rules/ids.ts';
import { UsageError } from './failure.ts';

/** The command line goes before the settings file. @throws UsageError for an id that no cluster can have */
export function withClusterId(settings: AgentSettings, id: string | undefined): AgentSettings {
  const fault = id === undefined ? undefined : clusterIdFault(id);
  if (fault !== undefined) throw new UsageError(`--cluster ${fault}.`);
  return id === undefined ? settings : { ...settings, cluster: { ...settings.cluster, id } };
}
