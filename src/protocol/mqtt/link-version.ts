import type { LinkFailure } from './link-failure.ts';

/**
 * The MQTT version of the next connection of a link. Brokers without MQTT 5 respond with CONNACK 1 or 0x84, or close
 * the connection. The latter proves nothing, so both versions are tried in turn.
 */
export class LinkVersion {
  current: 4 | 5;
  /** Whether the broker has accepted this version. Then the other one is not tried. */
  isProven = false;

  /** `first`: the version of the first attempt. */
  constructor(first: 4 | 5 = 5) {
    this.current = first;
  }

  /**
   * Called after a refused connection; `isSilent`: without a response. Returns whether the broker has named the version
   * as the reason, and the other one is next.
   */
  refused({ text }: LinkFailure, isSilent: boolean): boolean {
    const { current } = this;
    if (current === 5 && /this version of MQTT/.test(text)) this.current = 4;
    else if (isSilent && !this.isProven) this.current = current === 5 ? 4 : 5;
    return current === 5 && this.current === 4 && !isSilent;
  }
}
