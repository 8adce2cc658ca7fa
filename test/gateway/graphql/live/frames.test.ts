import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { startGraphqlServer } from '../server.ts';
import { createTicks } from './subscribers.ts';

const QUERY = 'subscription ($label: String!) { counter(label: $label) { n label } }';
/**
 * In bytes: both sides of where the head of a frame gets longer (RFC 6455 5.2), and of where a result counts as large.
 */
const LENGTHS = [125, 126, 16_300, 17_000, 65_535, 65_536];
const LETTERS = ['a', 'é', '€', '😀'];

test.each(['1', 'é😀"'])(
  'messages of every length come whole, in ASCII and beyond, for operations named %j',
  async (name) => {
    const { ticks } = createTicks();
    const { port } = await startGraphqlServer({ ticks });
    const socket = new WebSocket(`ws://127.0.0.1:${port}/graphql`, 'graphql-transport-ws');
    onTestFinished(() => socket.terminate());
    const send = (message: object) => socket.send(JSON.stringify(message));
    const answer = async () => String((await once(socket, 'message'))[0]);
    await once(socket, 'open');
    send({ type: 'connection_init', payload: { token: 'ann' } });
    await answer();
    for (const [index, length] of LENGTHS.entries()) {
      for (const letter of LETTERS) {
        const id = `${name}${index}${letter}`;
        const messageWith = (label: string) => ({ id, type: 'next', payload: { data: { counter: { n: 0, label } } } });
        const room = length - Buffer.byteLength(JSON.stringify(messageWith('')));
        const width = Buffer.byteLength(letter);
        const label = letter.repeat(room / width) + ' '.repeat(room % width);
        send({ id, type: 'subscribe', payload: { query: QUERY, variables: { label } } });
        const text = await answer();
        expect(Buffer.byteLength(text)).toBe(length);
        expect(JSON.parse(text)).toEqual(messageWith(label));
      }
    }
  },
);
