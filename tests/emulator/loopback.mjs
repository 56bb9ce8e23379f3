// Loaded before the emulator, which has no option for the host, takes no free port, and outlives its parent.
import net from "node:net";

const listen = net.Server.prototype.listen;

// On loopback alone, on a port that the system gives, which is told on stdout.
net.Server.prototype.listen = function () {
  this.once("listening", () => console.log(`listening on ${this.address().port}`));
  return listen.call(this, { host: "127.0.0.1", port: 0 });
};

// The tests hold the other end of stdin: when they are gone, however they went, so is the emulator.
process.stdin.on("end", () => process.exit(0));
process.stdin.on("error", () => process.exit(0));
process.stdin.resume();
