const NO_BYTES = Buffer.alloc(0);

/**
 * Detects copies of messages for overlapping subscriptions. MQTT 3.1.1 (section 3.3.5) lets a broker send one copy for
 * each matching subscription. Copies arrive consecutively, so equal consecutive messages are counted once, up to the
 * number of subscriptions. If the length of such a run is not a multiple of that number, the broker does not send
 * copies, and all later messages are counted.
 */
export class Copies {
  #topic = '';
  #payload: Uint8Array = NO_BYTES;
  #row = 0;
  #matching = 1;
  #areSent = true;

  /** Must be called for each received message, in order. `matching`: number of subscriptions that match its topic. */
  isCopy(topic: string, payload: Uint8Array, matching: number): boolean {
    if (!this.#areSent) return false;
    if (topic === this.#topic && Buffer.compare(payload, this.#payload) === 0) this.#row += 1;
    else {
      this.#areSent = this.#row % this.#matching === 0;
      this.#topic = topic;
      this.#payload = payload;
      this.#matching = matching;
      this.#row = 1;
    }
    return this.#areSent && this.#row % matching !== 1 % matching;
  }
}
