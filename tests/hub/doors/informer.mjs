// Keeps a copy of those ConfigMaps of a namespace that have a label, with the informer of the official JavaScript client, and prints
// what it holds whenever that is something new: one line of JSON each time.
//
//     node informer.mjs PACKAGE SERVER TOKEN NAMESPACE SELECTOR

import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const [place, server, token, namespace, labelSelector] = process.argv.slice(2);
const k8s = await import(pathToFileURL(`${place}/dist/index.js`));

const CACHED_FROM = 'resource.karmada.io/cached-from-cluster';
const FASTER = 100; // version 2 waits a second, and up to thirty, before it watches again

const config = new k8s.KubeConfig();
// Without this the client speaks no plain HTTP.
config.loadFromClusterAndUser({ name: 'fleet', server, skipTLSVerify: true }, { name: 'somebody', token });
const api = config.makeApiClient(k8s.CoreV1Api);
const plain = new k8s.Watch(config);

const told = new Map(); // what the handlers were told
const seen = { wrong: [], lists: 0, watches: 0, events: 0, error: null };

const key = (body) => `${body.metadata.annotations[CACHED_FROM]}/${body.metadata.name}`;
const version = (body) => {
    const versions = JSON.parse(Buffer.from(body.metadata.resourceVersion, 'base64url').toString());
    return versions[body.metadata.annotations[CACHED_FROM]];
};

// News of what it has already, and a change of what it does not have, would be swallowed by its cache. An end of what it
// does not have is no mistake: it asks for no bookmarks, so what it was told last of a cluster may be older than a list.
function notice(type, body) {
    if (type === 'ERROR') return;
    seen.events += 1;
    if (type === 'BOOKMARK') seen.wrong.push('a bookmark');
    const before = informer.get(body.metadata.name, namespace);
    if (type === 'DELETED' && before === undefined) return;
    if ((type === 'ADDED') !== (before === undefined) || (before && BigInt(version(body)) <= BigInt(version(before)))) {
        seen.wrong.push(`${type} ${key(body)} ${version(body)} after ${before && version(before)}`);
    }
}

const watch = {
    watch(path, query, callback, done) {
        seen.watches += 1;
        const told = (type, body, whole) => {
            notice(type, body);
            callback(type, body, whole);
        };
        return plain.watch(path, query, told, done);
    },
};
const list = () => {
    seen.lists += 1;
    return api.listNamespacedConfigMap({ namespace, labelSelector });
};
const informer = new k8s.ListWatch(
    `/api/v1/namespaces/${namespace}/configmaps`, watch, list, false, labelSelector, undefined,
    { delayFn: (milliseconds) => sleep(milliseconds / FASTER) },
);
informer.on('add', (body) => told.set(key(body), version(body)));
informer.on('update', (body) => told.set(key(body), version(body)));
informer.on('delete', (body) => told.delete(key(body)));
informer.on('error', (error) => {
    seen.error = String(error);
    setTimeout(() => informer.start(), 50); // as its documentation says, but sooner
});

let said = '';
setInterval(() => {
    const cached = Object.fromEntries(informer.list(namespace).map((body) => [key(body), version(body)]));
    const line = JSON.stringify({ cached, told: Object.fromEntries(told), ...seen });
    if (line !== said) process.stdout.write(`${line}\n`);
    said = line;
}, 20);

process.stdin.resume().on('end', () => process.exit(0)); // whoever started it is gone
await informer.start();
