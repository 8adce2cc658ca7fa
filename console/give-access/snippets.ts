import { quoted } from '../clients/broker-place.ts';

/** What a program needs to connect, and topics that it may use. */
export interface Device {
  readonly username: string;
  readonly password: string;
  /** Empty: any. */
  readonly clientId: string;
  readonly topic: string | null;
  readonly filter: string | null;
}

export interface Place {
  readonly host: string;
  readonly port: string;
  readonly isSecure: boolean;
}

type Snippet = (device: Device, place: Place) => string;

const lines = (parts: readonly (string | false | null)[]): string =>
  parts.filter((part) => typeof part === 'string').join('\n');

/** Texts of JSON are also texts of Python and C++. */
const literal = (text: string): string => JSON.stringify(text);

const mosquitto: Snippet = ({ username, password, clientId, topic, filter }, { host, port, isSecure }) => {
  const id = clientId === '' ? '' : ` -i ${quoted(clientId)}`;
  const account = ` -u ${quoted(username)} -P ${quoted(password)}`;
  const start = ` -h ${host} -p ${port}${isSecure ? ' --tls-use-os-certs' : ''}${id}${account}`;
  return lines([
    topic !== null && `mosquitto_pub${start} \\\n  -q 1 -t ${quoted(topic)} -m hello`,
    filter !== null && `mosquitto_sub${start} \\\n  -t ${quoted(filter)} -v`,
  ]);
};

/** Since paho-mqtt 2, callbacks have a version. */
const python: Snippet = ({ username, password, clientId, topic, filter }, { host, port, isSecure }) =>
  lines([
    '# pip install "paho-mqtt>=2"',
    'import paho.mqtt.client as mqtt',
    '',
    'def on_connect(client, userdata, flags, reason_code, properties):',
    '    print(reason_code)',
    filter !== null && `    client.subscribe(${literal(filter)}, qos=1)`,
    topic !== null && `    client.publish(${literal(topic)}, "hello", qos=1)`,
    '',
    'def on_message(client, userdata, message):',
    '    print(message.topic, message.payload)',
    '',
    `client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=${literal(clientId || username)})`,
    `client.username_pw_set(${literal(username)}, ${literal(password)})`,
    isSecure && 'client.tls_set()',
    'client.on_connect = on_connect',
    'client.on_message = on_message',
    `client.connect(${literal(host)}, ${port})`,
    'client.loop_forever()',
  ]);

const arduino: Snippet = ({ username, password, clientId, topic, filter }, { host, port, isSecure }) =>
  lines([
    '#include <WiFi.h>  // ESP8266: ESP8266WiFi.h',
    isSecure && '#include <WiFiClientSecure.h>',
    '#include <PubSubClient.h>',
    '',
    isSecure && 'const char* AUTHORITY = "-----BEGIN CERTIFICATE-----\\n...";',
    isSecure ? 'WiFiClientSecure net;' : 'WiFiClient net;',
    'PubSubClient client(net);',
    '',
    'void onMessage(char* topic, byte* payload, unsigned int length) {',
    '  Serial.write(payload, length);',
    '}',
    '',
    'void setup() {',
    '  Serial.begin(115200);',
    '  WiFi.begin("SSID", "PASSPHRASE");',
    '  while (WiFi.status() != WL_CONNECTED) delay(500);',
    isSecure && '  net.setCACert(AUTHORITY);',
    `  client.setServer(${literal(host)}, ${port});`,
    '  client.setCallback(onMessage);',
    '}',
    '',
    'void loop() {',
    '  if (!client.connected()) {',
    `    if (!client.connect(${literal(clientId || username)}, ${literal(username)}, ${literal(password)})) {`,
    '      Serial.println(client.state());',
    '      delay(5000);',
    '      return;',
    '    }',
    filter !== null && `    client.subscribe(${literal(filter)});`,
    topic !== null && `    client.publish(${literal(topic)}, "hello");`,
    '  }',
    '  client.loop();',
    '}',
  ]);

/** By the name of the program or the library. */
export const SNIPPETS = { Mosquitto: mosquitto, Python: python, 'Arduino, ESP': arduino } as const;
