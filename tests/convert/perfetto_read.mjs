// perfetto_read.mjs NPM PROTO FILE - a file of Perfetto's as protobufjs decodes it, for perfetto_read.py
//
// JSON: a message is an object of lists, of each field's values in their order; numbers are texts, bytes are hexadecimal.
import {readFileSync} from "node:fs";
import {createRequire} from "node:module";

const [npm, proto, file] = process.argv.slice(2);
const protobuf = createRequire(npm + "/node_modules/")("protobufjs");
const root = new protobuf.Root().loadSync(proto, {keepCase: true});

function plain(value, field) {
    if (field.resolvedType) return message(value, field.resolvedType);
    if (field.type === "bytes") return Buffer.from(value).toString("hex");
    return field.type === "bool" ? value : String(value);
}

function message(value, type) {
    const out = {};
    for (const field of type.fieldsArray) {
        if (!Object.hasOwn(value, field.name)) continue;
        const values = field.repeated ? value[field.name] : [value[field.name]];
        if (values.length) out[field.name] = values.map((one) => plain(one, field.resolve()));
    }
    return out;
}

const trace = root.lookupType("yore.Trace");
process.stdout.write(JSON.stringify(message(trace.decode(readFileSync(file)), trace)));
