import { openHashes, sealHashes } from '../../../protocol/apis/access-control/sealed-hashes.ts';
import { fieldOf } from '../../../protocol/control/fields.ts';
import { type ControlPlugin, ControlRefusal } from '../../../protocol/control/plugin.ts';
import { requiredText } from '../../../protocol/control/plugin-arguments.ts';
import { tablePlugin } from '../../../protocol/control/table-plugin.ts';
import type { AccessStore } from './access-store.ts';

/**
 * `brokergraph/password-copies`: the service copies passwords between the embedded brokers of a cluster with it, as
 * encrypted hashes (`sealed-hashes.ts`). Unknown accounts are skipped; changed ones are disconnected.
 */
export function passwordCopyPlugin(
  access: AccessStore,
  administratorPassword: string,
  kick: (usernames: ReadonlySet<string>) => void,
): ControlPlugin {
  const { state } = access;
  let afterwards: (() => void) | null = null;
  const commands = tablePlugin('brokergraph/password-copies', {
    getpasswords: (command) => {
      const usernames = fieldOf(command, 'usernames');
      if (!Array.isArray(usernames)) throw new ControlRefusal('Invalid/missing usernames');
      const known = usernames.filter((username): username is string => state.policy.clients.has(username));
      const hashes = new Map(known.map((username) => [username, state.passwordHash(username)]));
      return { passwords: sealHashes(hashes, administratorPassword, 'GIVEN') };
    },
    putpasswords: async (command) => {
      const hashes = openHashes(requiredText(command, 'passwords'), administratorPassword, 'TO_TAKE');
      if (hashes === null) throw new ControlRefusal('Invalid passwords');
      const changed = new Set<string>();
      for (const [username, hash] of hashes) {
        if (!state.policy.clients.has(username) || state.passwordHash(username) === hash) continue;
        state.putPasswordHash(username, hash);
        changed.add(username);
      }
      await access.save();
      if (changed.size > 0) afterwards = () => kick(changed);
      return {};
    },
  });
  const afterAnswer = () => {
    const kicks = afterwards;
    afterwards = null;
    return kicks;
  };
  return { ...commands, afterAnswer };
}
