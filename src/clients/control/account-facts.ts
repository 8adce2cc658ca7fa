import type { ControlCaller } from '../../control/plugin.ts';
import { followedClient } from '../inspect/followed-account.ts';
import { companyOf } from './account-company.ts';
import type { AccountFacts } from './disconnect-plan.ts';

export interface AccountQuestions {
  /** The selected clients by user name. */
  readonly accounts: ReadonlyMap<string, readonly string[]>;
  readonly takeover: boolean;
  /** Nothing will be sent whose answer could tell. */
  readonly isDryRun: boolean;
}

/** Accounts that are asked about at once. */
const AT_ONCE = 100;

/**
 * What has to be known of accounts before whole ones are disconnected. Of a single client the plugin finds it out itself when it is
 * told to disconnect it, and refuses; only for a dry run that is done here.
 */
export async function accountFacts(
  controls: ControlCaller,
  { accounts, takeover, isDryRun }: AccountQuestions,
): Promise<Pick<AccountFacts, 'isKnownWhole' | 'canTakeOver'>> {
  const asked = [...accounts].filter(([, ids]) => isDryRun || ids.length > 1);
  const whole = new Set<string>();
  await eachOf(asked, async ([username, ids]) => {
    const selected = new Set(ids);
    const company = await companyOf(controls, ids[0] ?? '');
    if (company === null || !company.isComplete || company.client.isAmbiguous || company.client.isOwn !== false) return;
    if (company.others.every((id) => selected.has(id))) whole.add(username);
  });
  const persistent = new Set<string>();
  if (isDryRun && takeover) {
    await eachOf([...accounts.values()].flat(), async (clientId) => {
      if ((await followedClient(controls, clientId))?.clean === false) persistent.add(clientId);
    });
  }
  const isLeftToPlugin = (username: string) => !isDryRun && accounts.get(username)?.length === 1;
  return {
    isKnownWhole: (username) => whole.has(username) || isLeftToPlugin(username),
    canTakeOver: (clientId) => !isDryRun || persistent.has(clientId),
  };
}

async function eachOf<T>(list: readonly T[], ask: (entry: T) => Promise<void>): Promise<void> {
  for (let from = 0; from < list.length; from += AT_ONCE) await Promise.all(list.slice(from, from + AT_ONCE).map(ask));
}
