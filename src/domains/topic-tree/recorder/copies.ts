const NO_BYTES = Buffer.alloc(0);

/**
 * Of messages that several subscriptions of one connection match, MQTT 3.1.1 lets a broker send one, or a copy for each (3.3.5), and
 * nothing in them tells which: Mosquitto sends one unless it is configured otherwise. Copies come one behind the other. So equal ones in a
 * row are counted as one up to the number of subscriptions, until a row shows that this broker sends one: it has fewer.
 */
export class Copies {
  #topic = '';
  #payload: Uint8Array = NO_BYTES;
  #row = 0;
  #matching = 1;
  #areSent = true;

  /** Of each message that comes, in order. `matching`: subscriptions that match its topic. True: it was told before. */
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
