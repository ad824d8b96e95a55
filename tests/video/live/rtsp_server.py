# SPDX-License-Identifier: Apache-2.0
# rtsp_server.py: GStreamer's RTSP server with a moving picture, at
# rtsp://127.0.0.1:PORT/test; the second argument is "NAME:PASSWORD" or absent.
# Without arguments it ends.  It exits with 77 where GStreamer or what it needs
# is missing.
import sys

try:
    import gi
    gi.require_version("Gst", "1.0")
    gi.require_version("GstRtspServer", "1.0")
    from gi.repository import GLib, Gst, GstRtspServer
except (ImportError, ValueError):
    sys.exit(77)
Gst.init(None)
for name in ("videotestsrc", "jpegenc", "rtpjpegpay"):
    if not Gst.ElementFactory.find(name):
        sys.exit(77)
if len(sys.argv) < 2:
    sys.exit(0)    # it could run
server = GstRtspServer.RTSPServer()
server.set_address("127.0.0.1")
server.set_service(sys.argv[1])
factory = GstRtspServer.RTSPMediaFactory()
factory.set_shared(True)
factory.set_launch("( videotestsrc is-live=true pattern=ball ! video/x-raw,"
                   "format=I420,width=64,height=48,framerate=25/1 ! jpegenc ! "
                   "rtpjpegpay name=pay0 )")
if len(sys.argv) > 2:
    user, password = sys.argv[2].split(":")
    auth = GstRtspServer.RTSPAuth()
    token = GstRtspServer.RTSPToken()
    token.set_string("media.factory.role", "user")
    auth.add_basic(GstRtspServer.RTSPAuth.make_basic(user, password), token)
    server.set_auth(auth)
    permissions = GstRtspServer.RTSPPermissions()
    permissions.add_permission_for_role("user", "media.factory.access", True)
    permissions.add_permission_for_role("user", "media.factory.construct", True)
    factory.set_permissions(permissions)
server.get_mount_points().add_factory("/test", factory)
if not server.attach(None):
    sys.exit(1)
GLib.MainLoop().run()
