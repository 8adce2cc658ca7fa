import type { ControlCommand } from '../control/envelope.ts';
import { type ControlPlugin, ControlRefusal } from '../control/plugin.ts';
import type { ClientRegistry } from './client-registry.ts';
import { pageOf, requiredText, runCommandOf } from './plugin-arguments.ts';

/**
 * `dynamic-security` of a broker that has one account: what can be read is told, what would change something is unknown.
 * Everything that nobody was given is denied, which is what the default access says.
 */
export class AccountPlugin implements ControlPlugin {
  readonly api = 'dynamic-security';
  readonly #username: string;
  readonly #registry: ClientRegistry;

  constructor(username: string, registry: ClientRegistry) {
    this.#username = username;
    this.#registry = registry;
  }

  execute(command: ControlCommand): unknown {
    return runCommandOf(
      {
        getdefaultaclaccess: () => ({
          acls: ['publishClientSend', 'publishClientReceive', 'subscribe', 'unsubscribe'].map((acltype) => ({
            acltype,
            allow: false,
          })),
        }),
        getclient: (fields) => {
          if (requiredText(fields, 'username') !== this.#username) throw new ControlRefusal('Client not found');
          return { client: this.#account() };
        },
        listclients: (fields) => {
          const { verbose, count, offset } = pageOf(fields);
          const page = [verbose ? this.#account() : this.#username].slice(offset, offset + count);
          return { totalCount: 1, clients: page };
        },
      },
      command,
    );
  }

  close(): void {}

  #account(): object {
    const connections: { address: string }[] = [];
    for (const { identity, address } of this.#registry.open) {
      if (identity?.username === this.#username) connections.push({ address });
    }
    return { username: this.#username, textname: 'Administrator', roles: [], groups: [], connections };
  }
}
