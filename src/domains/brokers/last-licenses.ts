import type { LicenseInformation } from '../../protocol/apis/license.ts';

/** Longer licences are not stored: a broker may send any length. */
const MAX_CHARACTERS = 20_000;

/** The last known licence of each broker, in memory. */
export class LastLicenses {
  readonly #licenses = new Map<string, LicenseInformation>();

  /** `null` if no licence is known since the start of the service. */
  of(brokerId: string): LicenseInformation | null {
    return this.#licenses.get(brokerId) ?? null;
  }

  set(brokerId: string, license: LicenseInformation): void {
    if (JSON.stringify(license).length <= MAX_CHARACTERS) this.#licenses.set(brokerId, license);
    else this.#licenses.delete(brokerId);
  }

  delete(brokerId: string): void {
    this.#licenses.delete(brokerId);
  }
}
