import { ServiceError } from '../../platform/errors.ts';
import type { BrokerRecord } from '../brokers/broker-cache.ts';
import type { AccessControlService, ImportReport } from './access-control-service.ts';
import type { PasswordCopies } from './writing/password-copies.ts';

interface AccountCopiesOptions {
  readonly access: AccessControlService;
  readonly passwordCopies: PasswordCopies;
}

interface CopyRequest {
  readonly usernames: readonly string[];
  /** By account. Accounts without an entry keep their password where that is possible. */
  readonly passwords: ReadonlyMap<string, string>;
  readonly dryRun: boolean;
  readonly mayControl: boolean;
}

export interface CopyReport extends ImportReport {
  /** New accounts that have the same password as on the other broker, sorted. */
  readonly keepPassword: readonly string[];
}

/** Copies accounts to another broker, with their groups and roles and, between embedded brokers, their passwords. */
export class AccountCopies {
  readonly #options: AccountCopiesOptions;

  constructor(options: AccountCopiesOptions) {
    this.#options = options;
  }

  /** Errors: INVALID (unknown accounts, one broker); those of reading `from` and of writing to `to`. */
  async copy(from: BrokerRecord, to: BrokerRecord, request: CopyRequest): Promise<CopyReport> {
    const { access, passwordCopies } = this.#options;
    const { usernames, ...rest } = request;
    const accounts = { policy: await access.policy(from), usernames };
    const options = { ...rest, source: { accounts }, deleteOthers: false, setPasswords: false };
    const report = await access.importDocument(to, options);
    // The account of this service has a different password on each broker.
    const wanted = report.needPassword.filter((username) => username !== from.username);
    const isPossible = passwordCopies.serves(from) && passwordCopies.serves(to);
    if (!isPossible) {
      const reason = passwordCopies.serves(from) ? NOT_WRITTEN : NOT_READ;
      return { ...report, keepPassword: [], notes: wanted.length > 0 ? [...report.notes, reason] : report.notes };
    }
    if (request.dryRun) return withKept(report, new Set(wanted));
    const created = new Set(
      report.requested.flatMap((change, index) =>
        change.kind === 'PUT_CLIENT' && report.changes[index]?.outcome === 'APPLIED' ? [change.username] : [],
      ),
    );
    try {
      const copied = await passwordCopies.copy(
        from,
        to,
        wanted.filter((username) => created.has(username)),
      );
      return withKept(report, copied);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      // The accounts exist already, so the caller must learn which ones lack a password.
      return { ...report, keepPassword: [], notes: [...report.notes, `${NOT_COPIED}: ${error.message}`] };
    }
  }
}

const withKept = (report: ImportReport, kept: ReadonlySet<string>): CopyReport => ({
  ...report,
  needPassword: report.needPassword.filter((username) => !kept.has(username)),
  keepPassword: report.needPassword.filter((username) => kept.has(username)),
});

const NOT_READ =
  'Passwords cannot be copied: only embedded brokers of this service return password hashes. New accounts need a new password.';
const NOT_WRITTEN =
  'Passwords cannot be copied: only embedded brokers of this service accept password hashes. New accounts need a new password.';
const NOT_COPIED = 'The passwords could not be copied, so the new accounts need one';
