import { ServiceError } from '../../../platform/errors.ts';
import type { Sealer } from '../../../platform/storage/encryption/sealed.ts';
import { openHashes, sealHashes } from '../../../protocol/apis/access-control/sealed-hashes.ts';
import type { ControlApi } from '../../../protocol/control/envelope.ts';
import { isFields } from '../../../protocol/control/fields.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';

interface PasswordCopiesOptions {
  readonly runtimes: BrokerRuntimes;
  readonly sealer: Sealer;
}

const PASSWORD_API: ControlApi = 'brokergraph/password-copies';
/** Per request, so that it fits into a payload. */
const MAX_ACCOUNTS = 500;

/** Copies passwords of accounts between embedded brokers of this service, as sealed hashes. */
export class PasswordCopies {
  readonly #options: PasswordCopiesOptions;

  constructor(options: PasswordCopiesOptions) {
    this.#options = options;
  }

  serves({ type, engine }: BrokerRecord): boolean {
    return type === 'CLOUD' && engine === 'embedded';
  }

  /** Copies the passwords of accounts that `from` has, and returns these accounts. Errors: those of the brokers. */
  async copy(from: BrokerRecord, to: BrokerRecord, usernames: readonly string[]): Promise<ReadonlySet<string>> {
    const copied = new Set<string>();
    for (let start = 0; start < usernames.length; start += MAX_ACCOUNTS) {
      const data = await this.#call(from, 'getPasswords', { usernames: usernames.slice(start, start + MAX_ACCOUNTS) });
      const sealed = isFields(data) && typeof data.passwords === 'string' ? data.passwords : '';
      const hashes = openHashes(sealed, this.#passwordOf(from), 'GIVEN');
      if (hashes === null)
        throw new ServiceError('BROKER_REJECTED', `"${from.name}" sent passwords that cannot be read`);
      await this.#call(to, 'putPasswords', { passwords: sealHashes(hashes, this.#passwordOf(to), 'TO_TAKE') });
      for (const username of hashes.keys()) copied.add(username);
    }
    return copied;
  }

  #call(broker: BrokerRecord, command: string, fields: Readonly<Record<string, unknown>>): Promise<unknown> {
    return this.#options.runtimes.ask(broker, ({ controls }) => controls.call(PASSWORD_API, command, fields));
  }

  #passwordOf({ id, sealedPassword }: BrokerRecord): string {
    return this.#options.sealer.open(sealedPassword ?? '', `${id}/password`);
  }
}
